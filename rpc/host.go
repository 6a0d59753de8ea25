package rpc

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

// A Provider gives the server the host that answers the clients' calls. If there is no host, for example because its
// database cannot be opened, the provider itself answers those methods that must work even then, for example Status.
type Provider interface {
	// Current returns the host for one call. The caller must call release when it has finished with the host. If there
	// is no host, Current returns the error with which to answer the call.
	Current(context.Context) (h Host, release func(), err error)

	// If there is no host yet, Initialize may open one first. The server fills in the same fields as for
	// Host.Initialize.
	Initialize(context.Context, client.Client, schema.InitializeParams) (schema.InitializeResult, error)
	// Transform may replace a host that fails mid-pass.
	Transform(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error)
	// Status describes the host, or says why there is none.
	Status(context.Context, client.Client, schema.StatusParams) (schema.StatusResult, error)
	// Disconnected is called when a client is gone. No other call for this client follows.
	Disconnected(client.Client)
}

// Always returns a Provider whose host is always h.
func Always(h Host) Provider { return always{h} }

type always struct{ Host }

func (a always) Current(context.Context) (Host, func(), error) { return a.Host, func() {}, nil }

// A Host implements the methods of the protocol. The server never runs two methods of one session at the same time. The
// context of a method ends a little before its answer is due, so that the method can answer with a fallback. All calls
// of a connection get the same Client. If a method returns an error that has a method `RPCCode() int`, the server sends
// this code to the client.
type Host interface {
	// Initialize opens a directory. The server fills in Protocol, HostVersion and HostPID. If a client only reads
	// status, Harness and Directory are empty.
	Initialize(context.Context, client.Client, schema.InitializeParams) (schema.InitializeResult, error)

	Transform(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error)
	System(context.Context, client.Client, schema.SystemParams) (schema.SystemResult, error)
	Event(context.Context, client.Client, schema.EventParams) (schema.Empty, error)
	TextComplete(context.Context, client.Client, schema.TextCompleteParams) (schema.TextCompleteResult, error)
	ToolExecute(context.Context, client.Client, schema.ToolExecuteParams) (schema.ToolExecuteResult, error)
	CommandExecute(context.Context, client.Client, schema.CommandExecuteParams) (schema.CommandExecuteResult, error)

	// Status describes the store and the sessions. The server fills in Version, Protocol, ProgramHash, PID, StartedAt,
	// Bugs and Clients.
	Status(context.Context, client.Client, schema.StatusParams) (schema.StatusResult, error)
	SessionStatus(context.Context, client.Client, schema.SessionStatusParams) (schema.SessionStatus, error)
	// After Subscribe, the host calls Client.SessionChanged after each pass of a matching session, and again when the
	// pass's request is answered.
	Subscribe(context.Context, client.Client, schema.SubscribeParams) (schema.Empty, error)

	// Keep records which pieces the user wants to keep.
	Keep(context.Context, client.Client, schema.KeepParams) (schema.KeepResult, error)

	// SessionExport returns the state that a replay needs in addition to the frames of a trace.
	SessionExport(context.Context, client.Client, schema.SessionExportParams) (schema.SessionExport, error)

	// Disconnected is called when a client is gone. No other call for this client follows.
	Disconnected(client.Client)
}
