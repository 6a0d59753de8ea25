// Package page draws a replay as one HTML page that loads nothing. It shows the parts of the context, the
// content of the provider's cache, and the cost of each bust.
//
// It may import internal/format, internal/replay, internal/secret, internal/view, internal/view/report, internal/words, pipeline and schema.
package page
