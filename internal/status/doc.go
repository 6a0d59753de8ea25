// Package status describes the host and its sessions to people: numbers, sentences, savings and warnings. A status
// request locks no session, so it never waits for a pass.
//
// It may import internal/bug, internal/chronicle, internal/client, internal/clock, internal/config, internal/embedding,
// internal/format, internal/json, internal/model, internal/notice, internal/pass, internal/program,
// internal/promptcache, internal/route, internal/session, internal/summary, internal/tokens, internal/words, pipeline,
// schema and store.
package status
