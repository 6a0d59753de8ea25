// Package render turns a transcript and its frozen state into the wire. For each message it makes a patch and a wire
// message. The shim applies the patch to the raw message. The wire message is the patched message as the provider sees
// it. It is always decoded from the patched raw message, so it cannot differ from what the shim sends. The wire
// validator and the provider profiles are in this package, too.
//
// It may import internal/json, pipeline/frozen, pipeline/text, pipeline/transcript and schema.
package render
