// Package daemon manages the processes: the bridge, and how the host is found, started, locked and
// replaced by a newer release.
//
// It promises:
//   - At most one host serves a data directory at a time, however many bridges
//     start one.
//   - Only processes of the same user reach the host.
//   - If its host is gone, a bridge ends with an error. If its shim is gone, the bridge
//     ends after the host's last answers.
//
// It may import internal/json, rpc and schema.
package daemon
