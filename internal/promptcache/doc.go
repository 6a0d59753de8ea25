// Package promptcache models a provider's prompt cache, so that a mock
// provider can report believable usage and a replay can print a bill.
//
// The model is that of the Anthropic Messages API: a prefix is remembered where
// the request marks a breakpoint, and a later request reads the longest
// remembered prefix at, or shortly before, one of its own breakpoints. A
// provider that caches without being asked is the same model with a breakpoint
// at every block.
//
// The package is pure: no clock, no I/O; the caller passes the time. It may
// import schema only.
package promptcache
