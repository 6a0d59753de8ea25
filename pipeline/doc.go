// Package pipeline contains the pass: raw messages in, wire out. A pass has two steps. First it decides, from the
// frozen state and the readings of the moment, what to add to the frozen state. Then it renders the transcript, always
// by the same code, with these additions laid over the state. When the pass is stored, the additions become part of the
// frozen state. The package does no I/O, reads no clock and has no global variables.
//
// It may import its sub-packages, internal/chronicle, internal/json, internal/route and schema.
package pipeline
