// Command gen packs the vocabulary of the npm package @anthropic-ai/tokenizer
// into the file that package tokens embeds. First install the package in the
// version that ../LICENSE.vocabulary names, then run `go generate
// ./internal/tokens`.
//
// It may import internal/json.
package main
