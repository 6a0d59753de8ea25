// Package frozen holds the lasting decisions of a session's passes: the tag of each unit, the edits, the setup. A tag
// is never taken back, and an edit is taken back only if the user asks for it. The package also holds the queue of
// drops, which does not affect the wire.
//
// It may import nothing of this module.
package frozen
