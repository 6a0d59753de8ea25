// Package skew tests that hosts of two releases share a user: the newer one
// takes over in the middle of work, and serves the older one's clients.
//
// It may import e2e/stage, e2e/script, internal/mockllm, internal/opencodetest
// and, for the journal, store.
package skew
