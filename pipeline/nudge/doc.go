// Package nudge decides when a model is told that it could drop tool output:
// in passing, at the end of a tool's output, and once in a session's life by a
// message of its own.
//
// It may import pipeline/frozen.
package nudge
