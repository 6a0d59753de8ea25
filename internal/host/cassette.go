package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/schema"
)

// Agents answers in place of a harness's hidden agents. A replay uses a cassette, which holds recorded
// answers. The methods are safe for concurrent use.
type Agents interface {
	// Run answers as a shim answers agent/run. When ctx ends, Run withdraws the run and returns soon.
	Run(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// The host calls Begin before it starts background work that may ask agents, and End when that work has
	// ended. Such work asks one question at a time. The host answers the call that caused the work after
	// Begin has returned.
	Begin()
	End()
}

// runRecorded is RunAgent with Options.Agents instead of a shim.
func (h *Host) runRecorded(ctx context.Context, p schema.AgentRunParams, harness schema.Harness) (AgentAnswer, error) {
	result, err := h.Agents.Run(ctx, p)
	switch {
	case ctx.Err() != nil:
		return AgentAnswer{}, agentEnded(ctx)
	case err != nil:
		return AgentAnswer{}, &AgentError{Kind: AgentUnavailable, Message: err.Error()}
	}
	return agentAnswer(harness, result)
}

// goAsking starts background work that may ask hidden agents.
func (h *Host) goAsking(work func()) {
	if h.Agents != nil {
		h.Agents.Begin()
	}
	h.background.Go(func() {
		if h.Agents != nil {
			defer h.Agents.End()
		}
		work()
	})
}

// ports returns the functions that a run of the historian needs from the host. If a provider was overloaded
// during a recording, the replay does not wait for it.
func (h *Host) ports(a ask.Asker) historian.Ports {
	p := historian.Ports{Asker: a}
	if h.Agents != nil {
		p.Sleep = func(context.Context, time.Duration) error { return nil }
	}
	return p
}
