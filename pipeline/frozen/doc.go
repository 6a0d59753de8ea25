// Package frozen is the state that a session's passes have decided and will
// never decide again: which unit carries which tag, the edits, and the setup of
// the session. The wire is a pure function of the transcript and of this. The
// queue of drops waits here, too, and shows on no wire.
//
// It may import nothing of this module.
package frozen
