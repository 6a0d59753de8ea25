package toy

import (
	"context"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/schema"
)

// Agent is the agent's name in the harness.
const Agent = "magicctx-toy"

// A toy remembers which projects it has asked about.
type toy struct {
	agents *agent.Runner
	mu     sync.Mutex
	asked  map[string]bool
}

// Feature asks about a project after the first pass of its first session.
func Feature(agents *agent.Runner) pass.Feature {
	t := &toy{agents: agents, asked: map[string]bool{}}
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) {
		project := ps.Params.Directory
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.asked[project] {
			return
		}
		t.asked[project] = true
		a := agent.Asker{Runner: agents, Harness: schema.Harness(ps.Session.Key.Harness), Client: ps.Client, Directory: project, Title: "toy"}
		agents.Go(func() {
			answer, err := ask.Once(agents.Background.Lifetime(), a, ask.Request{Agent: Agent, System: "You are a toy.", Prompt: "Say hello.", Timeout: time.Minute})
			agents.Log.Info("the toy has asked", "project", project, "answer", answer.Text, "error", err)
		})
	}}
}
