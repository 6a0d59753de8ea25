// Package mode names the kinds of sessions. The store, the status and a replay use a mode's name.
//
// It may import nothing of this module.
package mode
