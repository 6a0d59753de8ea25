// Package arch holds the tests that keep the arrows between packages pointing
// down: cmd -> rpc -> internal/host -> {pipeline, agents, store} -> schema.
// There is no code in it, and nothing imports it.
package arch
