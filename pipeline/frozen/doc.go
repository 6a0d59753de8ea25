// Package frozen is the state that a session's passes have decided and will
// never decide again: which unit carries which tag, and the edits. The wire is
// a pure function of the transcript and of this.
//
// It may import nothing of this module.
package frozen
