// Package traces finds the recorded traces on this machine, and the sessions in them.
//
// It may import internal/json, internal/program, rpc and schema.
package traces
