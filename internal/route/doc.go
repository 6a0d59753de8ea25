// Package route knows how providers cache prompts: how long an unused prefix stays cached, how much writing
// and reading it costs, how long a prefix must be, and where the provider finds it again. One table has a row
// for each route to a model family, for example "bedrock-1h". docs/cache-routes.md names the public sources
// of its figures. Reported usage corrects the lives in the table.
//
// The package is pure: it uses no clock and no I/O, and the caller passes the
// time. It may import schema only.
package route
