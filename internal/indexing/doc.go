// Package indexing fills the index of messages. It removes secrets from messages, cuts them into chunks, and follows
// the sessions of a running host in the background.
//
// It may import internal/background, internal/embedding, internal/format, internal/json, internal/pass,
// internal/project, internal/rawhistory, internal/secret, internal/session, internal/terms, pipeline/transcript,
// schema, store and store/index.
package indexing
