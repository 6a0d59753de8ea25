// Package pass runs the passes of sessions: it reads the facts of the moment, lets the pipeline decide and render,
// stores the result in one transaction, and answers. Features attach to the named places of a pass.
//
// It may import internal/bug, internal/client, internal/clock, internal/config, internal/json, internal/mode,
// internal/model, internal/route, internal/session, pipeline, schema and store.
package pass
