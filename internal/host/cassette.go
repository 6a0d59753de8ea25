package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/schema"
)

// Agents stands in for the hidden agents of a harness. In a replay it is a cassette, which
// holds their recorded answers. Its methods are safe for concurrent use.
type Agents interface {
	// Run answers as a shim answers agent/run. When ctx ends, the run is withdrawn, and Run
	// returns soon.
	Run(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// Begin is called before work begins that may ask agents in the background, End when the
	// work has ended. Such work asks one question at a time. The call that causes the work
	// is answered after Begin.
	Begin()
	End()
}

// runRecorded is RunAgent with the agents of the options.
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

// goAsking does work in the background that may ask hidden agents.
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

// ports returns what a run of the historian needs of its surroundings. A provider that was
// overloaded during a recording needs no time in the replay.
func (h *Host) ports(a ask.Asker) historian.Ports {
	p := historian.Ports{Asker: a}
	if h.Agents != nil {
		p.Sleep = func(context.Context, time.Duration) error { return nil }
	}
	return p
}
