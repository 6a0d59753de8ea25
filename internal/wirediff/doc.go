// Package wirediff says what one request has changed in the messages that the model sees, piece by piece. It renders the
// messages of the harness's own store twice: with the decisions before the request, and with those after it.
//
// It may import internal/chronicle, internal/format, internal/json, internal/rawhistory, internal/session, internal/tokens,
// internal/words, pipeline, pipeline/transcript, schema and store.
package wirediff
