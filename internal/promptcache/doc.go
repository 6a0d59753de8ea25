// Package promptcache simulates a provider's prompt cache. With it, a mock provider reports believable usage
// and a replay prints a bill.
//
// The rules come from the table of internal/route. A provider with breakpoints
// caches a prefix where the request marks one. A later request then reads the
// longest cached prefix that ends at, or shortly before, one of its own
// breakpoints. A provider without breakpoints caches every prompt, and reads
// the part that a new prompt shares with a cached one.
//
// Hindsight looks back at a finished session, and finds the cheapest times for its busts.
//
// The package is pure: it uses no clock and no I/O, and the caller passes the time.
//
// It may import internal/route and schema.
package promptcache
