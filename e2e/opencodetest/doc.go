// Package opencodetest runs the real OpenCode from the repository's node_modules, with an isolated home and a mock
// provider. It reads and writes only below the given root, and uses no network except the loopback interface. The
// recorder of traces uses the package, too, so its functions return errors and take no testing.TB.
//
// It may import internal/json.
package opencodetest
