// Package frozen holds what a session's passes have decided and never decide again: the tag of each unit, the
// edits, the setup. The wire is a pure function of the transcript and this state. The
// package also holds the queue of drops, which does not affect the wire.
//
// It may import nothing of this module.
package frozen
