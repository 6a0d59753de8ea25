// Package frozen holds the decisions that a session's passes have made and
// never make again: the tag of each unit, the edits, and the setup of the
// session. The wire is a pure function of the transcript and this state. The
// package also holds the queue of drops, which does not affect the wire.
//
// It may import nothing of this module.
package frozen
