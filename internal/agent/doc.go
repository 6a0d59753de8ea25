// Package agent holds what every hidden agent needs: its definition, its runs through a connected shim or a
// cassette, and the lease that keeps two runs from doing the same work. What an agent asks, and what becomes of
// its answers, is in the packages below agents.
//
// It may import agents, internal/background, internal/client, internal/clock, internal/json,
// internal/overflow, pipeline/transcript, schema and store.
package agent
