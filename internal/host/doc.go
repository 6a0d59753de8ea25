// Package host holds the use cases, one method per hook. For a transform it loads the session's state, runs
// the pass, commits the decisions and answers. It owns the sessions in memory. It is the only package in
// which pipeline, store and agents meet.
//
// It may import pipeline, store, agents, schema and internal helpers, never rpc.
package host
