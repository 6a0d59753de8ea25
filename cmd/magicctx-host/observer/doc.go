// Package observer asks a running host about itself and its sessions. It never starts a host.
//
// It may import internal/doctor, internal/json, internal/program, rpc, rpc/daemon and schema.
package observer
