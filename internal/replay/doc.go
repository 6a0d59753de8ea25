// Package replay runs a recorded connection again with a fresh store. It reports the effect of each pass on the
// provider's cache and on the bill. It plays the shim: it keeps the arrays, applies the mutations, and checks each
// wire. Its checks are independent of the code that made the wire. A cassette plays the hidden agents, with their
// recorded answers. internal/view/report and internal/view/page draw the results.
//
// It may import internal/agent, internal/clock, internal/config, internal/format, internal/host,
// internal/json, internal/mode, internal/model, internal/program, internal/promptcache, internal/route,
// internal/status, internal/tokens, pipeline, rpc, schema and store.
package replay
