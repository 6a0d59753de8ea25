// Package host holds the use cases, one method per hook: load the session's
// state, run the pass, commit what it decided, answer. It owns what stays in
// memory of a session and is the only place where pipeline, store and agents meet.
//
// It may import pipeline, store, agents, schema and internal helpers, never rpc.
package host
