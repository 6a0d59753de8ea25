// Package opencodetest runs the real OpenCode, from the repository's
// node_modules, in an isolated home and wired to a mock provider.
//
// Nothing outside the given root is read or written, and no network but the
// loopback interface is used. The package serves tests and the trace recorder,
// so it returns errors instead of taking a testing.TB. It may import
// internal/json only.
package opencodetest
