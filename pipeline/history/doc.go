// Package history decides which part of the transcript a historian may summarise, and
// when. docs/history.md has the rules and the sources of the constants.
//
// It may import pipeline/frozen, pipeline/transcript, pipeline/render, pipeline/text,
// schema, internal/json and internal/bug.
package history
