// Package render turns a transcript and its frozen state into the wire. For each message it makes a patch and a wire
// message. The shim applies the patch to the raw message. The wire message is decoded from the patched raw message, so
// it cannot differ from the message that the shim sends. It also has the wire validator and the provider profiles.
//
// It may import internal/json, pipeline/frozen, pipeline/text, pipeline/transcript and schema.
package render
