// Package replay runs a recorded connection again, against a fresh store, and
// reports what each pass did to the provider's cache and to the bill. It plays
// the shim's part: it keeps the arrays, applies the mutations, and checks the
// wire it gets from the outside.
//
// It may import rpc, internal/host, pipeline, store and internal helpers.
package replay
