// Package route knows how providers cache prompts: life of an unused prefix, prices, smallest prefix,
// breakpoints. One table has a row for each route to a model family, for example "bedrock-1h".
// docs/cache-routes.md names the public sources of its figures. Reported usage corrects the lives in the
// table.
//
// The package is pure: it uses no clock and no I/O, and the caller passes the time.
//
// It may import internal/format and schema.
package route
