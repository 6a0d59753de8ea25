// Package pass runs the passes of sessions: it reads the facts of the moment, lets the pipeline decide and render,
// stores the result in one transaction, and answers. A Feature is called at fixed points of a pass, for example
// after the decision.
//
// It may import internal/bug, internal/client, internal/clock, internal/config, internal/json, internal/mode,
// internal/model, internal/route, internal/session, pipeline, schema and store.
package pass
