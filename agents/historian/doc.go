// Package historian turns a chunk of old messages into compartments: it asks a
// model, checks the answer, and has it repaired. If no model gives a valid
// answer, it writes extractive compartments without one. So a run always ends
// with compartments that cover the chunk from its first message, unless it was
// aborted. Each compartment carries a fidelity receipt: the anchors of its raw
// messages that its text no longer holds.
//
// The package reads no store and starts nothing: the host gives it the chunk and
// the raw messages, and publishes the result. docs/historian.md has the grammar
// and the constants.
//
// It may import agents/ask and internal/json.
package historian
