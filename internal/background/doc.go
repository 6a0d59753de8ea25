// Package background runs a host's work in the background, and ends it when the host stops.
//
// It may import nothing of this module.
package background
