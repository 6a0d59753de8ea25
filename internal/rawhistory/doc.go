// Package rawhistory reads the messages of a session, verbatim and by their ordinals, from the harness's own
// store. This is OpenCode's database, or a session file of Pi. The package never writes. docs/raw-history.md has the
// facts about both stores.
//
// It may import internal/chronicle, internal/json, internal/regular, pipeline/history, pipeline/transcript, schema
// and store/opencodedb.
package rawhistory
