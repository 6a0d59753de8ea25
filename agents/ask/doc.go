// Package ask holds what the hidden agents share when they ask a model: the
// question, its answer, the kinds of failure, and the list of models to try.
// The host implements Asker with the harness, and a replay with a recording.
//
// It may import internal/json and internal/overflow.
package ask
