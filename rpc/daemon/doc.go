// Package daemon is the life of the processes: the bridge, and how the host is found, started, locked and
// replaced by a newer release.
//
// It promises:
//   - At most one host serves a data directory at a time, however many bridges
//     start one.
//   - Only processes of the same user reach the host.
//   - A bridge ends with an error when its host is gone, and after the host's
//     last answers when its shim is gone.
//
// It may import internal/json, rpc and schema.
package daemon
