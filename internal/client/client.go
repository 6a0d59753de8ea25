package client

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// A Client is the program at the other end of a connection. Its methods block until the other end answers or
// ctx ends. Once no answer can arrive, they fail with ErrClientLeft. They are safe for concurrent use.
type Client interface {
	// ModelLimits asks the harness's catalogue for the limits of a model.
	ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error)
	// Show displays a notice to the user.
	Show(ctx context.Context, p schema.NotifyShowParams) error
	// RunAgent runs a hidden agent and waits for its end. If ctx ends, the shim
	// ends the run, but RunAgent does not wait for that.
	RunAgent(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// AbortAgent makes the shim end a run. The call of RunAgent for that run then gets its answer.
	AbortAgent(ctx context.Context, p schema.AgentAbortParams) error
	// SessionChanged sends a subscriber the status of a session, encoded as JSON. All subscribers share these bytes, so they
	// must never be changed. SessionChanged does not block.
	SessionChanged(status []byte)
}
