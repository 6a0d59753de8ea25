// Package rpc is the conversation between a harness and the use cases in internal/host. It holds the frames,
// JSON-RPC, the method table, the order in which calls run, deadlines and cancellation, and the traces of
// all this. The processes that hold the conversation are in rpc/daemon.
//
// It promises:
//   - Calls of one session run one after another in the order in which they
//     arrived, whichever connection carried them. Sessions run side by side.
//     initialize, status, session/status, session/subscribe, shutdown and
//     $/cancelRequest never wait for a session.
//   - Every request is answered exactly once: with its result, an error, a
//     timeout or a cancellation. A panic in a handler is answered with an
//     error.
//   - JSON values that no handler reads are passed on byte for byte, in both directions.
//   - Nothing grows without bound. Frames, queues and running handlers have
//     bounds. A call that would exceed one is refused with a reason.
//
// The package declares the Host interface that it calls, and is the only place that turns errors into codes.
//
// It may import internal/bug, internal/client, internal/clock, internal/json, internal/program and schema.
package rpc
