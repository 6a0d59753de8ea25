package host

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// A Client is the program at the other end of a connection, as the use cases
// see it. Its methods block until the other end answers or ctx ends, and fail
// when the connection is gone. They are safe for concurrent use.
type Client interface {
	// ModelLimits asks the harness's catalogue.
	ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error)
	// Show puts a notice in front of the user.
	Show(ctx context.Context, p schema.NotifyShowParams) error
	// Send puts a message into a session.
	Send(ctx context.Context, p schema.MessageSendParams) error
	// SessionChanged tells a subscriber of a finished pass. It does not wait.
	SessionChanged(p schema.SessionStatus)
}
