// Package transcript is the host's canonical view of a session's raw messages. Each harness has a codec, which reads
// the raw JSON. All other code is independent of the harness. Raw messages are kept, and content that no rule changes
// stays byte for byte.
//
// It may import internal/json, pipeline/text and schema.
package transcript
