// Package clock is the one source of time. A replay or a test can replace it, for
// example to let six idle minutes pass at once.
//
// It may import nothing of this module.
package clock
