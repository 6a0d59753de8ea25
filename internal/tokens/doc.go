// Package tokens counts the tokens by which this program measures budgets and thresholds. Text is counted with
// the vocabulary of the npm package @anthropic-ai/tokenizer, and images with the area formula that Anthropic
// publishes. The counts only estimate the provider's bill, and are only compared with each other.
//
// It may import nothing of this module.
package tokens

//go:generate go run ./gen -in ../../node_modules/@anthropic-ai/tokenizer/claude.json -out vocabulary.bin
