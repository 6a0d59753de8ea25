// Package agent serves every hidden agent: its definition, its runs through a connected shim or a cassette, and its
// leases. A lease keeps two runs from doing the same work. The questions of each agent, and the use of its answers, are
// in the packages below agents.
//
// It may import agents, internal/background, internal/client, internal/clock, internal/json, internal/overflow,
// pipeline/transcript, schema and store.
package agent
