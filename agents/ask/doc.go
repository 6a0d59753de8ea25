// Package ask holds the code that the hidden agents share to ask a model: the question, its answer, the kinds
// of failure, and the list of models to try. The host implements Asker with the harness. A replay implements
// it with a recording.
//
// It may import internal/json and internal/overflow.
package ask
