// Package replay runs a recorded connection again, against a fresh store, and reports the effect of
// each pass on the provider's cache and on the bill. It plays the part of the shim: it keeps the
// arrays, applies the mutations, and checks each wire independently of the code that made it. A cassette
// plays the part of the hidden agents, with their recorded answers.
//
// It draws nothing: internal/view/report and internal/view/page do. It may import rpc, internal/host,
// pipeline, store and internal helpers.
package replay
