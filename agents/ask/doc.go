// Package ask defines how a hidden agent asks a model: question, answer, kinds of failure, and the list of models to
// try. The Asker of the host asks through the harness. The Asker of a replay answers from a recording.
//
// It may import internal/json, internal/overflow and internal/tokens.
package ask
