// Package client knows the programs at the other ends of the connections. Most of these programs are shims. The
// package holds the calls that the host may make, and what each client has reported. It also defines the errors by
// which a client decides what to do.
//
// It may import internal/config, pipeline/transcript and schema.
package client
