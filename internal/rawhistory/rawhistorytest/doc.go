// Package rawhistorytest lays out the stores of the harnesses for tests: OpenCode's
// database, and a session file of Pi.
//
// It may import internal/json.
package rawhistorytest
