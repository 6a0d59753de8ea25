// Package pipeline contains the pass: raw messages in, wire out. A pass has two steps.
// First it decides, from the frozen state and the readings of the moment, what to add
// to the frozen state. Then it renders the transcript with that state, always by the
// same code. The package does no I/O, reads no clock and keeps no globals.
//
// It may import its sub-packages, schema, internal/json, internal/route and
// internal/bug.
package pipeline
