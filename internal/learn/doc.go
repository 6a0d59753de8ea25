// Package learn learns from the requests of sessions: which rules a project regrets, how long providers keep a
// prefix, how they count tokens, and how long a prompt may be. The package attaches to the passes as a feature.
//
// It may import internal/client, internal/clock, internal/json, internal/model, internal/overflow, internal/pass,
// internal/route, internal/session, pipeline, schema and store.
package learn
