package rpc

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/schema"
)

// A Host does what the methods of the protocol ask for. Its methods are safe
// for concurrent use, except that those of one session are never called at the
// same time.
//
// A method's context ends a little before its answer is due, so that a method
// which can fall back on something still has the time to answer with it. The
// Client of a call is the same value for all calls of a connection.
//
// An error that has an `RPCCode() int` method is answered with that code.
type Host interface {
	// Initialize opens a directory. Protocol, HostVersion and HostPID of the
	// result are filled in by the caller. Harness and Directory are empty for a
	// client that only reads status.
	Initialize(context.Context, host.Client, schema.InitializeParams) (schema.InitializeResult, error)

	Transform(context.Context, host.Client, schema.TransformParams) (schema.WireMutation, error)
	System(context.Context, host.Client, schema.SystemParams) (schema.SystemResult, error)
	Event(context.Context, host.Client, schema.EventParams) (schema.Empty, error)
	ChatMessage(context.Context, host.Client, schema.ChatMessageParams) (schema.ChatMessageResult, error)
	TextComplete(context.Context, host.Client, schema.TextCompleteParams) (schema.TextCompleteResult, error)
	ToolBefore(context.Context, host.Client, schema.ToolBeforeParams) (schema.ToolBeforeResult, error)
	ToolAfter(context.Context, host.Client, schema.ToolAfterParams) (schema.ToolAfterResult, error)
	ToolExecute(context.Context, host.Client, schema.ToolExecuteParams) (schema.ToolExecuteResult, error)
	CommandExecute(context.Context, host.Client, schema.CommandExecuteParams) (schema.CommandExecuteResult, error)

	// Status reports on the store and the sessions. Version, Protocol, PID,
	// StartedAt, Bugs and Clients of the result are filled in by the caller.
	Status(context.Context, host.Client, schema.StatusParams) (schema.StatusResult, error)
	SessionStatus(context.Context, host.Client, schema.SessionStatusParams) (schema.SessionStatus, error)
	// Subscribe asks for Client.SessionChanged after each matching pass.
	Subscribe(context.Context, host.Client, schema.SubscribeParams) (schema.Empty, error)

	// Disconnected is the last call for a client, after all others returned.
	Disconnected(host.Client)
}
