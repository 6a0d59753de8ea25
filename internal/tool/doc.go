// Package tool holds the tools of the model and the commands of the user. Each has a file, and a table lists both kinds.
//
// It may import agents, internal/agent, internal/background, internal/chronicle, internal/client, internal/clock, internal/dream, internal/embedding, internal/format,
// internal/json, internal/mode, internal/model, internal/notice, internal/pass, internal/program, internal/rawhistory, internal/search, internal/session, internal/status,
// internal/summary, internal/tokens, internal/words, pipeline, schema and store.
package tool
