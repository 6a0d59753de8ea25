// Package nudge decides when the host tells a model that it could drop tool output. The host does that with reminders
// and, once in a session's life, with the nudge message. Both are notes at the end of content that the model has not
// seen yet.
//
// It may import pipeline/frozen.
package nudge
