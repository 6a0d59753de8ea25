// Package promptcache simulates a provider's prompt cache. With it, a mock provider reports believable usage
// and a replay prints a bill.
//
// The rules come from the table of internal/route. There are two kinds of providers:
//
//   - A request to a provider such as Anthropic carries breakpoints. The provider caches the prefix that ends at each
//     breakpoint. A later request reads the longest cached prefix that ends near one of its own breakpoints: at the
//     breakpoint, or at most Route.Lookback blocks before it.
//   - A provider such as OpenAI has no breakpoints. It caches every prompt, and a later request reads the part that it
//     shares with a cached one.
//
// Hindsight takes a finished session, and finds the requests at which its busts would have cost least.
//
// The package uses no clock and no I/O. The caller passes the time.
//
// It may import internal/route and schema.
package promptcache
