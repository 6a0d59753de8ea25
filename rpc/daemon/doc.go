// Package daemon is the life of the processes: where the host of a data
// directory listens, which process is that host, how a bridge finds or starts
// it, and how a newer release takes the place of an older one.
//
// It promises:
//   - At most one host serves a data directory at a time, however many bridges
//     start one.
//   - Only processes of the same user reach the host.
//   - A bridge ends with an error when its host is gone, and after the host's
//     last answers when its shim is gone.
//
// It may import rpc, whose conversation it carries, schema and internal/json.
// Only cmd and internal/doctor import it.
package daemon
