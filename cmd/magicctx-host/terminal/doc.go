// Package terminal finds out what a terminal can show, and makes the loggers: text for people on a terminal, JSON lines elsewhere.
//
// It may import internal/format.
package terminal
