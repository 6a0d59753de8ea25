package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
)

type Runner struct {
	Options
	// seats holds one token for each running agent.
	seats chan struct{}
}

type Options struct {
	Clients    *client.Registry
	Background *background.Work
	Serial     *clock.Serial
	Log        *slog.Logger
	Cassette   Cassette
	Ledger     Ledger
}

// A Ledger records the cost of the questions that hidden agents ask. It refuses a question that could exceed a budget.
type Ledger interface {
	// Begin reserves the highest possible cost of a question, because the agent may need several steps to answer it. If
	// Begin returns an error, the caller must not ask. Otherwise, the caller must call `settle` after the question.
	Begin(ctx context.Context, a Asker, q ask.Request, steps int) (settle func(End), err error)
}

type End struct {
	ask.Answer
	Err   error
	Steps int
	// IsUnknown means that nobody knows the result of the question, because the harness may still be working on it.
	IsUnknown bool
}

func NewRunner(o Options) *Runner { return &Runner{Options: o, seats: make(chan struct{}, maxRuns)} }

func (r *Runner) Go(work func()) {
	if r.Cassette != nil {
		r.Cassette.Begin()
	}
	r.Background.Go(func() {
		if r.Cassette != nil {
			defer r.Cassette.End()
		}
		work()
	})
}

// Sleep returns the function that waits before a question is repeated. nil means the usual wait. In a replay, no
// provider is overloaded, so the function does not wait.
func (r *Runner) Sleep() func(context.Context, time.Duration) error {
	if r.Cassette == nil {
		return nil
	}
	return func(context.Context, time.Duration) error { return nil }
}

type Asker struct {
	*Runner
	Harness schema.Harness
	// Client is the connection on which the session was last seen. If Client is closed, Ask uses another connection
	// of the same harness and directory.
	Client             client.Client
	Directory, Session string
	// Title tells the user what the agent does, for example "history 120-180".
	Title string
	Lease Lease
}

var _ ask.Asker = Asker{}

// maxRuns bounds how many hidden agents run at once. In Pi, each agent is a process of about 150 MB.
const maxRuns = 4

// After Ask has aborted a run, it waits at most abortGrace for the end of the run. A shim waits up to five seconds for
// this, so abortGrace is longer.
const abortGrace = 8 * time.Second

// Ask implements ask.Asker. Every error is an *ask.Error, unless q itself is invalid. If a run fails and its usage is
// known, the returned answer still contains the usage. If ctx ends, Ask aborts the run in the harness, and waits at
// most abortGrace for its end.
//
// A run has only the tools of its definition, so a hidden agent can neither read files nor start other agents.
func (a Asker) Ask(ctx context.Context, q ask.Request) (ask.Answer, error) {
	p, err := a.params(q)
	if err != nil {
		return ask.Answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, errTimeout)
	defer cancel()
	if a.Cassette == nil {
		select {
		case a.seats <- struct{}{}:
			defer func() { <-a.seats }()
		case <-ctx.Done():
			return ask.Answer{}, ended(ctx)
		}
	}
	settle, err := a.Ledger.Begin(ctx, a, q, p.Steps)
	if err != nil {
		return ask.Answer{}, err
	}
	end := a.run(ctx, q, p)
	settle(end)
	return end.Answer, end.Err
}

func (a Asker) run(ctx context.Context, q ask.Request, p schema.AgentRunParams) End {
	if a.Cassette != nil {
		return a.runRecorded(ctx, p, a.Harness)
	}
	reason := fmt.Sprintf("%s has no open connection for %s", a.Harness, a.Directory)
	for _, c := range a.Clients.WithOpen(a.Harness, a.Directory, a.Client) {
		result, err := a.runOn(ctx, c, p)
		switch {
		case err == nil:
			return endOf(a.Harness, result)
		case ctx.Err() != nil:
			return End{Err: ended(ctx), IsUnknown: true}
		case errors.Is(err, client.ErrClientLeft):
			return End{Err: failed(ask.Aborted, "aborted", err.Error()), IsUnknown: true}
		}
		a.Log.Warn("agent not run", "session", a.Session, "agent", q.Agent, "cause", err)
		reason = err.Error()
		if !isUnknownMethod(err) {
			return End{Err: unavailable(reason), IsUnknown: true}
		}
	}
	return End{Err: unavailable(reason)}
}

func (a Asker) params(q ask.Request) (schema.AgentRunParams, error) {
	definition, err := definitionOf(q.Agent)
	if err != nil {
		return schema.AgentRunParams{}, err
	}
	if n := len(q.System) + len(q.Prompt); n > schema.MaxAgentPromptBytes {
		return schema.AgentRunParams{}, fmt.Errorf("run %s: its prompts have %d bytes, at most %d fit into a call: send a shorter prompt", q.Agent, n, schema.MaxAgentPromptBytes)
	}
	if q.Timeout < time.Millisecond {
		return schema.AgentRunParams{}, fmt.Errorf("run %s: it has no time (%v)", q.Agent, q.Timeout)
	}
	if _, err := client.CodecOf(string(a.Harness)); err != nil {
		return schema.AgentRunParams{}, err
	}
	cfg := a.Clients.Config(string(a.Harness), a.Directory)
	return schema.AgentRunParams{
		Directory: a.Directory, Session: a.Session, Run: fmt.Sprintf("run_%d", a.Serial.Next()), Agent: q.Agent, Title: a.Title,
		Model: q.Model, System: q.System, Prompt: q.Prompt, Tools: definition.Tools, Steps: definition.Steps, MaxOutput: q.MaxOutput,
		TimeoutMS: int(q.Timeout.Milliseconds()), Keep: cfg.KeepSubagents,
	}, nil
}

// If ctx ends, runOn aborts the run and waits for the run's answer, because only the answer contains the usage.
func (r *Runner) runOn(ctx context.Context, c client.Client, p schema.AgentRunParams) (schema.AgentRunResult, error) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	type outcome struct {
		result schema.AgentRunResult
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := c.RunAgent(waiting, p)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	late := time.AfterFunc(abortGrace, cancel)
	defer late.Stop()
	reason := "aborted"
	if errors.Is(context.Cause(ctx), errTimeout) {
		reason = "timeout"
	}
	if err := c.AbortAgent(waiting, schema.AgentAbortParams{Directory: p.Directory, Run: p.Run}); err != nil {
		r.Log.Warn("agent not aborted", "session", p.Session, "agent", p.Agent, "error", err)
		cancel()
	}
	o := <-done
	if o.err == nil && o.result.Failure.Reason != "" {
		o.result.Failure.Reason = reason // the shim itself only reports that the run was aborted
	}
	return o.result, o.err
}

// isUnknownMethod reports whether the shim is so old that it does not know agent/run.
func isUnknownMethod(err error) bool {
	var answered interface{ IsUnknownMethod() bool }
	return errors.As(err, &answered) && answered.IsUnknownMethod()
}
