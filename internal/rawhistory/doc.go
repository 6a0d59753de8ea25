// Package rawhistory reads the messages of a session, verbatim and by their ordinals, from the harness's own
// store: OpenCode's database, a session file of Pi, or a session log of Claude Code or Codex. The package never
// writes. docs/raw-history.md has the facts about these stores.
//
// It may import internal/chronicle, internal/format, internal/json, internal/regular, pipeline/history, pipeline/render,
// pipeline/transcript, schema and store/opencodedb.
package rawhistory
