// Package client knows the programs at the other ends of the connections. Most of them are shims. For each client,
// it holds the calls that the host may make and the reports of the client. It also has the errors that clients branch
// on.
//
// It may import internal/config, pipeline/transcript and schema.
package client
