//go:build race

package replay

// isRace says that the race detector slows everything down.
const isRace = true
