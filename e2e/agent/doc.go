// Package agent gives the two harnesses one face, so that tests and the recorder of traces can have the
// same session with either.
//
// It may import internal/json, e2e/opencodetest and e2e/pitest.
package agent
