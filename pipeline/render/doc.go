// Package render turns a transcript and its frozen state into the wire: per
// message a patch for the shim to apply, and what the provider then sees. There
// is one path: the wire is read from the patched raw message, never computed
// beside it. The wire validator and the provider profiles live here too.
//
// It may import schema, internal/json, pipeline/transcript, pipeline/frozen and
// pipeline/text.
package render
