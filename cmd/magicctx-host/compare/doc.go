// Package compare replays recorded sessions, and compares their bills with the harness alone, with magicctx, and with other
// settings.
//
// It may import internal/format, internal/json, internal/regular, cmd/magicctx-host/traces, internal/replay, internal/view, internal/view/page, internal/words, schema
// and store/models.
package compare
