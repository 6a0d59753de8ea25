// Package historian turns a chunk of old messages into compartments. It asks a model, checks the answer, and asks for a
// repair if the answer is invalid. If no model gives a valid answer, it writes extractive compartments without a model.
// If a run is not aborted and cannot wait, it ends with compartments that cover the chunk from its first message. Each
// compartment has a receipt, which names the anchors of the raw messages that the compartment's text has lost.
//
// The package reads no store and starts nothing: the host gives it the chunk and the raw messages, and publishes the
// result. docs/historian.md has the grammar and the constants.
//
// It may import agents/ask, internal/chronicle, internal/json, internal/terms and internal/tokens.
package historian
