// Package background runs the work that a host does while nobody waits for it, and ends it when the host stops.
//
// It may import nothing of this module.
package background
