package rpc

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

// A Provider gives the server the host that answers its calls. Without a host, for example if its database cannot be
// opened, the provider itself answers the methods that must work.
type Provider interface {
	// Current returns the host for one call. The caller must call release when the call has returned. Without a host,
	// the error answers the call.
	Current(context.Context) (h Host, release func(), err error)

	// Initialize may open a missing host first. The server fills in the same fields as for Host.Initialize.
	Initialize(context.Context, client.Client, schema.InitializeParams) (schema.InitializeResult, error)
	// Transform may replace a host that fails mid-pass.
	Transform(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error)
	// Status describes the host, or says why there is none.
	Status(context.Context, client.Client, schema.StatusParams) (schema.StatusResult, error)
	// Disconnected is the last call for a client.
	Disconnected(client.Client)
}

// Always returns a Provider of one host that is never missing.
func Always(h Host) Provider { return always{h} }

type always struct{ Host }

func (a always) Current(context.Context) (Host, func(), error) { return a.Host, func() {}, nil }

// A Host implements the methods of the protocol. Methods of one session never run at the same time. A method's
// context ends a little before its answer is due, for a fallback. The Client argument is the same value for all calls
// of a connection. An error with a method `RPCCode() int` decides the code of the answer.
type Host interface {
	// Initialize opens a directory. The caller fills in Protocol, HostVersion and HostPID. Harness and Directory are
	// empty for a client that only reads status.
	Initialize(context.Context, client.Client, schema.InitializeParams) (schema.InitializeResult, error)

	Transform(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error)
	System(context.Context, client.Client, schema.SystemParams) (schema.SystemResult, error)
	Event(context.Context, client.Client, schema.EventParams) (schema.Empty, error)
	TextComplete(context.Context, client.Client, schema.TextCompleteParams) (schema.TextCompleteResult, error)
	ToolExecute(context.Context, client.Client, schema.ToolExecuteParams) (schema.ToolExecuteResult, error)
	CommandExecute(context.Context, client.Client, schema.CommandExecuteParams) (schema.CommandExecuteResult, error)

	// Status reports on the store and the sessions. The caller fills in Version, Protocol, ProgramHash, PID,
	// StartedAt, Bugs and Clients.
	Status(context.Context, client.Client, schema.StatusParams) (schema.StatusResult, error)
	SessionStatus(context.Context, client.Client, schema.SessionStatusParams) (schema.SessionStatus, error)
	// Subscribe asks for calls of Client.SessionChanged: after each pass of a matching session, and when the pass's
	// request is answered.
	Subscribe(context.Context, client.Client, schema.SubscribeParams) (schema.Empty, error)

	// Keep notes which pieces the user wants to keep.
	Keep(context.Context, client.Client, schema.KeepParams) (schema.KeepResult, error)

	// SessionExport returns what a replay of a trace needs besides the frames.
	SessionExport(context.Context, client.Client, schema.SessionExportParams) (schema.SessionExport, error)

	// Disconnected is the last call for a client.
	Disconnected(client.Client)
}
