// Package session holds the sessions in memory. It translates the rows of the store to the types of the pipeline and
// back. Each feature of a session keeps its own state in a Slot.
//
// It may import internal/chronicle, internal/clock, internal/json, internal/mode, internal/project, internal/rawhistory,
// internal/tokens, pipeline, schema and store.
package session
