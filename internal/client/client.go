package client

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// A Client is the program at the other end of a connection. Its methods block until the program answers or ctx ends.
// If the connection ends, they fail with ErrClientLeft. They are safe for concurrent use.
type Client interface {
	ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error)
	Show(ctx context.Context, p schema.NotifyShowParams) error
	// RunAgent waits for the end of the run. If ctx ends, RunAgent returns before the shim has ended the run.
	RunAgent(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// AbortAgent tells the shim to end a run. RunAgent then returns the run's answer.
	AbortAgent(ctx context.Context, p schema.AgentAbortParams) error
	// SessionChanged sends a subscriber the status of a session, encoded as JSON. All subscribers share the bytes of
	// `status`, so nobody may change them. SessionChanged does not block.
	SessionChanged(status []byte)
}
