// Package client knows the programs at the other ends of the connections, most of them shims: what the host may
// ask of each of them, what each of them has reported, and the errors that they branch on.
//
// It may import internal/config, pipeline/transcript and schema.
package client
