// Package report prints a replay on a terminal: its timeline, its bill beside
// that of the unmodified session, and its findings.
//
// It may import internal/replay, internal/view, internal/format, internal/route
// and schema.
package report
