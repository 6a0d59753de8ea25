// Package summary is the historian's work on a session: its runs, their publication, recomps,
// wrap-ups, the rescue of a prompt that may not fit, and the content of the head. The package is a pass.Feature.
//
// It may import agents, internal/agent, internal/background, internal/chronicle, internal/client, internal/clock,
// internal/config, internal/format, internal/json, internal/keyfiles, internal/marking, internal/model, internal/notice,
// internal/pass, internal/projectdocs, internal/rawhistory, internal/session, internal/tokens, pipeline, schema
// and store.
package summary
