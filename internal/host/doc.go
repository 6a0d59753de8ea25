// Package host holds the use cases, one method per hook. For a transform it loads the session's state, runs
// the pass, commits the decisions and answers. It owns the sessions in memory. It is the only package in
// which pipeline, store and agents meet.
//
// It may import agents, internal/agent, internal/background, internal/bug, internal/client, internal/clock,
// internal/config, internal/format, internal/json, internal/marker, internal/mode, internal/model,
// internal/overflow, internal/program, internal/projectdocs, internal/promptcache, internal/rawhistory,
// internal/route, internal/session, internal/tokens, pipeline, schema and store.
package host
