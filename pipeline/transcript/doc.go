// Package transcript is the host's canonical view of a session's raw messages.
// One codec per harness reads the raw JSON; the code above it does not know
// which harness it serves. Raw messages are kept, and content that no rule
// changes stays byte for byte.
//
// It may import internal/json, pipeline/text and schema.
package transcript
