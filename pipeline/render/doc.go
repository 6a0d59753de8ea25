// Package render turns each message and its frozen units into a patch, and validates the wire. The shim applies the
// patch to the raw message. The wire message is decoded from the patched raw message, so it cannot differ from the
// message that the shim sends. The provider profiles are here, too.
//
// It may import internal/json, pipeline/frozen, pipeline/text, pipeline/transcript and schema.
package render
