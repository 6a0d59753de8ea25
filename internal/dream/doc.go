// Package dream is the dreamer's work on a project: the user starts a run, the run merges memories that say the same, and
// the user can undo it.
//
// It may import agents/ask, agents/dreamer, internal/agent, internal/background, internal/chronicle, internal/client, internal/clock,
// internal/format, internal/notice, internal/session, schema, store, store/memories and store/work.
package dream
