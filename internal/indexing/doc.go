// Package indexing fills the index of messages. It turns messages into chunks without secrets, reads what the
// harnesses have stored, and keeps the index up to date with the sessions of a running host, in the background.
//
// It may import internal/background, internal/embedding, internal/format, internal/json, internal/pass, internal/project,
// internal/rawhistory, internal/secret, internal/session, internal/terms, pipeline/transcript, schema, store and
// store/index.
package indexing
