// Package agent gives the two harnesses the same interface, so that tests and the recorder of traces can play
// one session in either of them.
//
// It may import internal/json, e2e/opencodetest and e2e/pitest.
package agent
