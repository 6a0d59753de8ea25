package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

// The names of the hidden agents in the harness. The prefix distinguishes them from the user's own agents.
const (
	historianAgent = "magicctx-historian"
	editorAgent    = "magicctx-historian-editor"
)

// historianSteps bounds the steps of a historian. It answers in one step. The second step is for a model that
// calls a tool although it has none.
const historianSteps = 2

// noTools is the empty tool list of every hidden agent. The history contains text that other people wrote. If
// a hidden agent could read files, such a text could make it copy a file into a summary that the user never
// meant to show to a model. The harness is no protection: it may let a hidden agent read without asking the
// user, and may follow links out of the project.
var noTools = []string{}

// agentDefinitions returns the hidden agents that a harness registers. The harness keeps the prompt of a
// definition until it restarts, so each run sends the current system prompt itself.
func agentDefinitions() []schema.AgentDefinition {
	return []schema.AgentDefinition{
		{
			Name: historianAgent, Description: "Summarises the history of a session for magicctx.",
			Prompt: prompt("agent.md"), Tools: noTools, Steps: historianSteps,
		},
		{
			Name: editorAgent, Description: "Revises a summary for magicctx.",
			Prompt: prompt("agent.md"), Tools: noTools, Steps: 1,
		},
	}
}

// agentDefinition returns the definition of a hidden agent.
func agentDefinition(name string) (schema.AgentDefinition, error) {
	all := agentDefinitions()
	i := slices.IndexFunc(all, func(d schema.AgentDefinition) bool { return d.Name == name })
	if i < 0 {
		return schema.AgentDefinition{}, fmt.Errorf("there is no hidden agent %q", name)
	}
	return all[i], nil
}

// An AgentRun is one request to a hidden agent: one prompt, one answer.
type AgentRun struct {
	Harness schema.Harness
	// Client is the connection on which the session was last seen. If it is gone, RunAgent uses another
	// connection of the same harness and directory.
	Client client.Client
	// Directory and Session identify the session for which the agent works.
	Directory, Session string
	// Agent is the name of an agent definition.
	Agent string
	// Title tells the user what the run does, for example "history 120-180".
	Title string
	// Model is "provider/model". If it is empty, the session's model answers.
	Model          string
	System, Prompt string
	// Timeout bounds the run.
	Timeout time.Duration
}

// maxAgentRuns bounds how many hidden agents run at once. In Pi, each agent is a process with about 150 MB.
const maxAgentRuns = 4

// abortGrace is how long RunAgent waits for a run after it told the shim to end it. It covers the five
// seconds that a shim gives its harness.
const abortGrace = 8 * time.Second

// RunAgent runs a hidden agent through a connected shim and returns its last answer. Every error is an
// *AgentError, except for a mistake in r. If the usage of a failed run is known, the returned answer holds
// it. If ctx ends, RunAgent ends the run in the harness, and waits at most abortGrace for it to end.
//
// A run has no tools: a hidden agent reads no file, and cannot start another agent.
func (h *Host) RunAgent(ctx context.Context, r AgentRun) (AgentAnswer, error) {
	p, err := h.agentParams(r)
	if err != nil {
		return AgentAnswer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errAgentTimeout)
	defer cancel()
	if h.Agents != nil {
		return h.runRecorded(ctx, p, r.Harness)
	}
	select {
	case h.agentRuns <- struct{}{}:
		defer func() { <-h.agentRuns }()
	case <-ctx.Done():
		return AgentAnswer{}, agentEnded(ctx)
	}
	unavailable := &AgentError{Kind: AgentUnavailable, Message: fmt.Sprintf("%s has no open connection for %s", r.Harness, r.Directory)}
	for _, c := range h.clients.WithOpen(r.Harness, r.Directory, r.Client) {
		result, err := h.runOn(ctx, c, p)
		switch {
		case err == nil:
			return agentAnswer(r.Harness, result)
		case ctx.Err() != nil:
			return AgentAnswer{}, agentEnded(ctx)
		case errors.Is(err, client.ErrClientLeft):
			return AgentAnswer{}, &AgentError{Kind: AgentAborted, Message: err.Error()}
		}
		h.Log.Warn("agent not run", "session", r.Session, "agent", r.Agent, "cause", err)
		unavailable.Message = err.Error()
		if !isUnknownMethod(err) { // the run may have begun
			break
		}
	}
	return AgentAnswer{}, unavailable
}

// agentParams validates a run and returns the parameters of its call.
func (h *Host) agentParams(r AgentRun) (schema.AgentRunParams, error) {
	definition, err := agentDefinition(r.Agent)
	if err != nil {
		return schema.AgentRunParams{}, err
	}
	if n := len(r.System) + len(r.Prompt); n > schema.MaxAgentPromptBytes {
		return schema.AgentRunParams{}, fmt.Errorf("run %s: its prompts have %d bytes, at most %d fit into a call: send a shorter prompt", r.Agent, n, schema.MaxAgentPromptBytes)
	}
	if r.Timeout < time.Millisecond {
		return schema.AgentRunParams{}, fmt.Errorf("run %s: it has no time (%v)", r.Agent, r.Timeout)
	}
	if _, err := client.CodecOf(string(r.Harness)); err != nil {
		return schema.AgentRunParams{}, err
	}
	cfg := h.clients.Config(string(r.Harness), r.Directory)
	return schema.AgentRunParams{
		Directory: r.Directory, Session: r.Session, Run: fmt.Sprintf("run_%d", h.revision.Add(1)), Agent: r.Agent, Title: r.Title,
		Model: r.Model, System: r.System, Prompt: r.Prompt, Tools: definition.Tools, Steps: definition.Steps,
		TimeoutMS: int(r.Timeout.Milliseconds()), Keep: cfg.KeepSubagents,
	}, nil
}

// runOn runs an agent on one connection. When ctx ends, runOn aborts the run and waits for the run's own
// answer, which contains the usage.
func (h *Host) runOn(ctx context.Context, c client.Client, p schema.AgentRunParams) (schema.AgentRunResult, error) {
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
	if errors.Is(context.Cause(ctx), errAgentTimeout) {
		reason = "timeout"
	}
	if err := c.AbortAgent(waiting, schema.AgentAbortParams{Directory: p.Directory, Run: p.Run}); err != nil {
		h.Log.Warn("agent not aborted", "session", p.Session, "agent", p.Agent, "error", err)
		cancel()
	}
	o := <-done
	if o.err == nil && o.result.Failure.Reason != "" {
		o.result.Failure.Reason = reason // the shim only knows that the run was withdrawn
	}
	return o.result, o.err
}

// isUnknownMethod reports whether err says that the shim does not know the method, because it is too old to
// run agents.
func isUnknownMethod(err error) bool {
	var answered interface{ IsUnknownMethod() bool }
	return errors.As(err, &answered) && answered.IsUnknownMethod()
}
