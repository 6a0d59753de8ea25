// Package session holds the sessions in memory: their locks, the state read from the store, and the translation of
// the store's rows to the types of the pipeline and back. Each feature of a session keeps its own state in a Slot.
//
// It may import internal/chronicle, internal/clock, internal/json, internal/mode, internal/project, internal/rawhistory,
// internal/tokens, pipeline, schema and store.
package session
