// Package model knows the facts about the models in use: their limits, prices and cache lives, and how many
// tokens their providers count. The harnesses' catalogues name some of these facts, and the host learns the
// others from reported usage and refusals.
//
// It may import agents/ask, internal/client, internal/clock, internal/config, internal/promptcache,
// internal/route, pipeline, schema and store.
package model
