// Package render turns a transcript and its frozen state into the wire. For
// each message it makes a patch, which the shim applies to the raw message, and
// a wire message, which is the patched message as the provider sees it. The
// wire message is always read from the patched raw message and never computed
// separately, so the two cannot disagree. The wire validator and the provider
// profiles are in this package, too.
//
// It may import internal/json, pipeline/frozen, pipeline/text, pipeline/transcript and schema.
package render
