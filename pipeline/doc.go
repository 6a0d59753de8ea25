// Package pipeline is the pass: raw messages in, wire out. A pass first
// decides, from the frozen state and the readings of the moment, what is added
// to the frozen state; then it renders the transcript with that state, always
// by the same code. Nothing here does I/O, reads a clock or keeps globals.
//
// It may import its sub-packages, schema, internal/json and internal/bug.
package pipeline
