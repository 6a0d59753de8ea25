// Package client knows the programs at the other ends of the connections. Most of these programs are shims. The
// package holds the calls that the host may make, and the facts that each client has reported. It also defines
// errors, whose codes tell a shim how to go on.
//
// It may import internal/config, pipeline/transcript and schema.
package client
