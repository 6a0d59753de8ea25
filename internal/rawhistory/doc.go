// Package rawhistory reads the messages of a session, verbatim and by their ordinals, from the harness's own
// store: from OpenCode's database, or from a session file of Pi. It never writes. docs/raw-history.md has the
// facts about both stores.
//
// It may import internal/json, internal/regular, pipeline/history, pipeline/transcript, schema and
// store/opencodedb.
package rawhistory
