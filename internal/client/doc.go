// Package client knows the programs at the other ends of the connections. Most of them are shims. For each client, it
// has the calls that the host may make, and what the client has reported. It also defines the errors by which a client
// decides what to do.
//
// It may import internal/config, pipeline/transcript and schema.
package client
