// Package page draws a replay as one HTML page that loads nothing: what the
// context is made of, what the provider's cache holds, and what each bust cost.
//
// It may import internal/replay, internal/view/report for the words of a pass,
// internal/format, pipeline and schema.
package page
