// Package transcript is the host's canonical view of a session's raw messages.
// A codec per harness reads the raw JSON; nothing behind it knows which harness
// it serves. Raw messages are kept, and what no rule opens stays byte for byte.
//
// It may import schema and internal/json.
package transcript
