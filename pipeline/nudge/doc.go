// Package nudge decides when the host tells a model that it could drop tool output. The host does so with reminders
// and, once in a session, with a longer nudge message. Both are added to content that the model has not seen yet.
//
// It may import pipeline/frozen.
package nudge
