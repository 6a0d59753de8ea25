// Package historian turns a chunk of old messages into compartments. It asks a model, checks the answer, and asks for a
// repair if the answer is invalid. If no model gives a valid answer, it writes extractive compartments without a model.
// So unless the host can put off the run (Job.CanWait), only an aborted run gives no compartments. The compartments
// begin with the chunk's first message. Each compartment has a receipt, which names the anchors of the raw messages
// that its text has lost.
//
// The package reads no store and starts nothing: the host gives it the chunk and the raw messages, and publishes the
// result. docs/historian.md has the grammar and the constants.
//
// It may import agents/ask, internal/chronicle, internal/json, internal/terms and internal/tokens.
package historian
