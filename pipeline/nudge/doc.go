// Package nudge decides when to tell a model that it could drop tool output. A
// reminder goes in passing, at the end of a tool's output. Once in a session's
// life a message of its own says the same.
//
// It may import pipeline/frozen.
package nudge
