// Package report prints a replay on a terminal: its timeline, its bill next to that of the unmodified session,
// and its findings.
//
// It may import internal/format, internal/replay, internal/route, internal/view, internal/words and schema.
package report
