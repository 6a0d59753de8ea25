// Package rpc connects the pipe of a harness with the use cases in
// internal/host. It holds the frames, the JSON-RPC conversation, the method
// table, the order in which calls run, deadlines and cancellation, the daemon
// on its socket, and the bridge that a shim starts.
//
// It promises:
//   - Calls of one session run one after another in the order in which they
//     arrived, whichever connection carried them. Sessions run side by side.
//     initialize, status, session/status, session/subscribe, shutdown and
//     $/cancelRequest never wait behind a session.
//   - Every request is answered exactly once: with its result, an error, a
//     timeout or a cancellation. A panic in a handler is answered with an
//     error.
//   - JSON values that no handler opens pass byte for byte, in both directions.
//   - Nothing grows without bound. Frames, queues and running handlers have
//     caps, and a call that meets a cap is refused with a reason.
//
// The package declares the Host interface that it calls, and is the only place
// that turns errors into codes. It may import internal/host for host.Client,
// schema and the leaf helpers. Only cmd, internal/doctor and internal/replay
// import it.
package rpc
