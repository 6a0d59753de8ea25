// Package rpc is everything between the pipe to a harness and the use cases:
// frames, the JSON-RPC conversation, the method table, the order in which calls
// run, deadlines and cancellation, the daemon on its socket, and the bridge that
// a shim starts.
//
// It promises:
//   - Calls of one session run one after another in the order they arrived,
//     whatever connection they came from; sessions run side by side. initialize,
//     status, session/status, session/subscribe, shutdown and $/cancelRequest
//     never wait behind a session.
//   - Every request is answered exactly once: with its result, an error, a
//     timeout or a cancellation. A panic is an answer too.
//   - Values that nobody opens pass byte for byte, in both directions.
//   - Nothing grows without bound: frames, queues and running handlers are
//     capped, and what meets a cap is refused with a reason.
//
// It declares the Host interface that it calls, and alone turns errors into
// codes. It may import internal/host for host.Client, schema and the leaf
// helpers; only cmd, internal/doctor and internal/replay import it.
package rpc
