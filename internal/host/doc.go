// Package host connects the parts of the host, and has one method for each method of the protocol. A Standby takes the
// place of a host whose store cannot be opened.
//
// It may import internal/agent, internal/background, internal/budget, internal/checks, internal/client, internal/clock,
// internal/config, internal/dream, internal/embedding, internal/indexing, internal/json, internal/learn, internal/marking,
// internal/model, internal/notice, internal/pass,
// internal/project, internal/prompt, internal/rawhistory, internal/recall, internal/session, internal/status,
// internal/summary, internal/tool, pipeline, schema and store.
package host
