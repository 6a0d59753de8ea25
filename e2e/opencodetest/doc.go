// Package opencodetest runs the real OpenCode from the repository's node_modules. OpenCode gets an
// isolated home and a mock provider.
//
// It reads and writes only below the given root, and uses no network except the loopback interface. The
// package serves tests and the trace recorder, so it returns errors instead of taking a testing.TB.
//
// It may import internal/json.
package opencodetest
