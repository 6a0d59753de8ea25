//go:build race

package replay

// The race detector slows down everything.
const isRace = true
