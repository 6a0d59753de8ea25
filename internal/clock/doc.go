// Package clock is the one source of time, so that a replay or a test can bring
// a clock of its own.
//
// It may import nothing of this module.
package clock
