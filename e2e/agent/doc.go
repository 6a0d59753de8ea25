// Package agent gives the harnesses the same interface, so that tests and the recorder of traces can play
// one session in either of them.
//
// It may import e2e/opencode2, e2e/opencodetest, e2e/pitest and internal/json.
package agent
