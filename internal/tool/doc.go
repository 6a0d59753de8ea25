// Package tool holds the tools of the model and the commands of the user: one file for each, and a table of both.
//
// It may import internal/chronicle, internal/client, internal/clock, internal/format, internal/json,
// internal/mode, internal/model, internal/pass, internal/rawhistory, internal/session, internal/status,
// internal/summary, internal/tokens, pipeline, schema and store.
package tool
