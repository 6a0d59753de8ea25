// Package model knows the limits, prices, cache lives and token ratios of the models in use. The harnesses'
// catalogues name some of these facts, and the host learns the others from usage and refusals.
//
// It may import agents/ask, internal/client, internal/clock, internal/config, internal/promptcache, internal/route,
// pipeline, schema and store.
package model
