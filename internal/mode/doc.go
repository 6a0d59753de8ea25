// Package mode names the kinds of sessions. A session's mode is stored with it,
// shown in its status and may be chosen for a replay, each time by its name.
//
// It may import nothing of this module.
package mode
