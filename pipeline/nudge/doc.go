// Package nudge decides when to tell a model that it could drop tool output. A reminder
// stands at the end of a tool's output. Once in a session's life, a separate message
// says the same.
//
// It may import pipeline/frozen.
package nudge
