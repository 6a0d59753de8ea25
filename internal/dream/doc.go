// Package dream runs the dreamer on projects, at night or on request, task by task. The user can undo a run.
//
// It may import agents/ask, agents/dreamer, internal/agent, internal/background, internal/checks, internal/chronicle,
// internal/client, internal/clock, internal/format, internal/json, internal/notice, internal/program, internal/project, internal/projectdocs, internal/session, internal/tokens, schema, store,
// store/memories and store/work.
package dream
