package client

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// A Client is the program at the other end of a connection. Its methods block until the other end answers or
// ctx ends. Once no answer can arrive, they fail with ErrClientLeft. They are safe for concurrent use.
type Client interface {
	ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error)
	Show(ctx context.Context, p schema.NotifyShowParams) error
	// RunAgent waits for the end of the run. If ctx ends, RunAgent returns before the shim has ended the run.
	RunAgent(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// AbortAgent makes the shim end a run, whose RunAgent then gets its answer.
	AbortAgent(ctx context.Context, p schema.AgentAbortParams) error
	// SessionChanged sends a subscriber the status of a session, encoded as JSON. All subscribers share these bytes, so they
	// must never be changed. SessionChanged does not block.
	SessionChanged(status []byte)
}
