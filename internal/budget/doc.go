// Package budget books the cost of the hidden agents' questions.
//
// It may import agents/ask, internal/agent, internal/chronicle, internal/client, internal/model,
// internal/promptcache, schema and store.
package budget
