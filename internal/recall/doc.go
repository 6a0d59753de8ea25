// Package recall tells the model, in one line, what an earlier message knows about a new prompt or result: a remedy, a
// rule, a decision or an answer. docs/search.md describes it.
//
// It may import internal/background, internal/clock, internal/format, internal/indexing,
// internal/json, internal/pass, internal/secret, internal/session, internal/terms, internal/tokens, pipeline,
// pipeline/transcript, store and store/index.
package recall
