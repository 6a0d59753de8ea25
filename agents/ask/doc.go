// Package ask defines how a hidden agent asks a model: question, answer, kinds of failure, and the list of models to
// try. The host implements Asker with the harness, and a replay with a recording.
//
// It may import internal/json, internal/overflow and internal/tokens.
package ask
