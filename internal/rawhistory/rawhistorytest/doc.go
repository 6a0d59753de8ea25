// Package rawhistorytest creates the harnesses' stores for tests: OpenCode's database, and a session file of
// Pi.
//
// It may import internal/json.
package rawhistorytest
