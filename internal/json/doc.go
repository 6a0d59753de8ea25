// Package json is the only door to a JSON library. The harness is JavaScript: its strings may hold lone surrogates,
// and its numbers may exceed 2^53. Both must pass through the host untouched. So a value that the host does not need to
// look into stays raw, and is written byte for byte as it was read.
//
// It may import nothing of this module.
package json
