// Package importing takes over what the TypeScript plugin has stored. It never writes to the plugin's database, and
// takes each row once, even after interruptions.
//
// It may import agents/historian, internal/chronicle, internal/clock, internal/format, internal/indexing,
// internal/json, internal/project, internal/rawhistory, internal/secret, internal/summary, pipeline/history,
// pipeline/transcript, schema, store, store/index, store/memories and store/plugindb.
package importing
