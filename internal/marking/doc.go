// Package marking decides when a compaction marker moves in a harness's own store, and records where it stands. A
// marker hides messages that the head covers. The package is a pass.Feature.
//
// It may import internal/background, internal/chronicle, internal/json, internal/marker, internal/pass,
// internal/session, pipeline, schema and store.
package marking
