// Package tokens counts the tokens by which this program measures budgets and thresholds. Text is counted with
// the vocabulary of the npm package @anthropic-ai/tokenizer, and images with the area formula that Anthropic
// publishes. The provider may count differently, so these counts only estimate its bill, and are compared only with
// each other.
//
// It may import nothing of this module.
package tokens

//go:generate go run ./gen -in ../../node_modules/@anthropic-ai/tokenizer/claude.json -out vocabulary.bin
