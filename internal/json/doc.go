// Package json is the only door to a JSON library. The harness is JavaScript: its strings may hold lone surrogates,
// and its numbers may exceed 2^53. Both must pass through the host untouched. Values that no code opens stay raw, and
// are written byte for byte as they were read.
//
// It may import nothing of this module.
package json
