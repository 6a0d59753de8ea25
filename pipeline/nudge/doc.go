// Package nudge decides when the host tells a model that it could drop tool output. The host uses reminders and, once
// in a session's life, the nudge message. Both are notes at the end of content that the model has not seen yet.
//
// It may import pipeline/frozen.
package nudge
