//go:build race

package replay

// isRace is true if the race detector is on, which slows down everything.
const isRace = true
