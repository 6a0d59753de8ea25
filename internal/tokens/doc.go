// Package tokens counts tokens as the budgets and thresholds of this program
// understand them: with the vocabulary of the npm package
// @anthropic-ai/tokenizer, and with the published area formula for images.
// The counts are estimates of what a provider bills, and only ever compared
// with each other.
//
// It may import nothing of this module (its generator and tests use internal/json).
package tokens

//go:generate go run ./gen -in ../../node_modules/@anthropic-ai/tokenizer/claude.json -out vocabulary.bin
