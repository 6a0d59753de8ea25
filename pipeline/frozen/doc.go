// Package frozen holds the lasting decisions of a session's passes: the tag of each unit, the edits, the setup. No
// later pass takes a tag back, and no pass takes an edit back unless the user asks for it. The package also holds the
// queue of drops, which does not affect the wire.
//
// It may import nothing of this module.
package frozen
