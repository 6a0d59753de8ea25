package agent

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// A Cassette returns recorded answers instead of asking a harness's hidden agents, for example in a replay. The
// methods are safe for concurrent use.
type Cassette interface {
	// If ctx ends, Run ends the run and returns soon.
	Run(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	// The host calls Begin before background work that may ask agents, and End after this work. If a protocol call
	// causes the work, the host calls Begin before it answers this call. The work asks one question at a time.
	Begin()
	End()
}

func (r *Runner) runRecorded(ctx context.Context, p schema.AgentRunParams, harness schema.Harness) End {
	result, err := r.Cassette.Run(ctx, p)
	switch {
	case ctx.Err() != nil:
		return End{Err: ended(ctx), IsUnknown: true}
	case err != nil:
		return End{Err: unavailable(err.Error())}
	}
	return endOf(harness, result)
}
