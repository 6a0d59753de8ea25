//go:build race

package replay

const isRace = true
