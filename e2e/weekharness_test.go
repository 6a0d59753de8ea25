package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestWeek(t *testing.T)   { testWeekIn(t, schema.HarnessOpenCode) }
func TestPiWeek(t *testing.T) { testWeekIn(t, schema.HarnessPi) }

func testWeekIn(t *testing.T, h schema.Harness) {
	suite.OnlyWithAll(t, "TestWeekOverAPipe plays the week")
	testWeek(t, h, func(w *week) player {
		w.mock.AddRule(mockllm.Rule{Name: "dreamer", Match: mockllm.SystemContains("You tend the notes that coding agents keep"), Answer: func(r *mockllm.Request) mockllm.Step {
			text, isKilled := w.answer(strings.Join(r.System, "\n"), textAt(r, 0, 0))
			if isKilled {
				text = "Nobody hears this."
			}
			return mockllm.Say(text)
		}})
		return &staged{week: w}
	})
}

type staged struct {
	*week
	agent    agent.Agent
	session  string
	calls    int
	isKilled atomic.Bool
}

func (p *staged) visit(project string, calls ...map[string]any) (first string) {
	p.t.Helper()
	p.leave()
	o := p.withPlugin()
	o.Project, o.Env = project, append(o.Env, "MAGICCTX_TEST_CLOCK="+p.clock())
	p.agent = p.launch(o)
	p.session = p.world.session(p.agent)
	if err := p.agent.Command(p.ctx, p.session, "ctx-dream --dry-run"); err != nil { // its answer waits until the host knows the project
		p.t.Fatal(err)
	}
	var steps []mockllm.Step
	var ids []string
	for _, args := range calls {
		p.calls++
		ids = append(ids, fmt.Sprint("toolu_memory", p.calls))
		steps = append(steps, mockllm.Call(ids[len(ids)-1], "ctx_memory", args))
	}
	for range 8 { // a turn and its bill are then as large as usual
		p.calls++
		tool, input := p.tools().Read(filepath.Join(project, "notes.txt"), 0, 0)
		steps = append(steps, mockllm.Call(fmt.Sprint("toolu_read", p.calls), tool, input))
	}
	p.play(p.session, append(steps, mockllm.Say("Done."))...)
	p.prompt(p.agent, p.session, "Go on.")
	for _, id := range ids {
		if result := p.resultOf(id); !strings.Contains(result, "Saved") {
			p.t.Errorf("%s: %s", id, result)
		}
	}
	return string(p.requests(p.session)[0].Body)
}

func (p *staged) dream() {
	p.t.Helper()
	before := len(p.spent().Runs)
	command := func() error { return p.agent.Command(p.ctx, p.session, "ctx-dream") }
	if err := command(); err != nil {
		p.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(p.spent().Runs) == before; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("the run has not ended")
		}
		if p.isKilled.Load() {
			p.isKilled.Store(command() != nil)
		}
	}
}

func (p *staged) leave() {
	p.t.Helper()
	if p.agent != nil {
		p.stop(p.agent)
	}
}

func (p *staged) kill() {
	status, err := p.user.Status(p.ctx)
	if err == nil {
		err = stage.End(p.ctx, status.PID, os.Kill)
	}
	if err != nil {
		p.t.Errorf("kill the host: %v", err)
	}
	p.isKilled.Store(true)
}

func (p *staged) prompts() (dollars float64) {
	for _, r := range p.mock.Requests() {
		if u := r.Reported; r.Rule != "dreamer" {
			dollars += (usage{input: u.Fresh, output: u.Output, read: u.Read, write: u.Write}).dollars()
		}
	}
	return dollars
}
