// Package recall delivers what the project knows: if a new prompt or result names a file, a command, an error or a
// subject about which an earlier message has a rule, a decision or a fix that the model does not see, one line with
// its source is added to that prompt or result. It attaches to the passes as a feature. docs/search.md describes it.
//
// It may import internal/background, internal/clock, internal/format, internal/indexing,
// internal/json, internal/pass, internal/secret, internal/session, internal/terms, internal/tokens, pipeline,
// pipeline/transcript, store and store/index.
package recall
