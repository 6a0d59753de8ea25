package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// edge contains unusual events: a provider that fails, a user who interrupts, reverts, forks and switches models, and a
// compaction by the harness.
var edge = session{name: "edge", harness: schema.HarnessOpenCode, limits: opencodetest.DefaultLimits, play: playEdge}

// piEdge also contains events that only Pi has: a reload of the extensions, a change of the session, and branches in
// the session's tree.
var piEdge = edge.with(schema.HarnessPi)

func playEdge(ctx context.Context, r *recording) error {
	r.mock.AddRule(mockllm.Rule{
		Name: "summary", Match: mockllm.WithoutTools,
		Answer: mockllm.Always(mockllm.Say("## Goal\nThe user has the files of a project read.\n\n## Progress\nSeveral are read.")),
	})
	id, err := r.agent.Begin(ctx)
	if err != nil {
		return err
	}
	d := &director{recording: r, ctx: ctx, session: id, reduced: map[string]bool{}}
	type scene struct {
		name string
		play func()
	}
	scenes := []scene{
		{"work", d.work},
		{"an image", d.image},
		{"refusals that are retried", d.retries},
		{"a prompt that is too long", d.overflow},
		{"an answer that breaks off", d.brokenAnswer},
		{"an aborted answer", d.abortAnswer},
		{"an aborted tool", d.abortTool},
		{"drops and pressure", d.pressure},
		{"a revert", d.revert},
		{"a revert that is taken back", d.unrevert},
		{"another model, and back", d.otherModel},
		{"pressure in the middle of a turn", d.force},
		{"a fork", d.fork},
		{"a fork from the middle", d.forkEarlier},
		{"OpenCode's own compaction", d.compaction},
	}
	if p, ok := r.agent.(*agent.Pi); ok {
		scenes = []scene{
			{"work", d.work},
			{"an image", d.image},
			{"refusals that are retried", d.retries},
			{"a prompt that is too long", d.repeatedOverflow},
			{"an answer that breaks off", d.brokenAnswer},
			{"an aborted answer", d.abortAnswer},
			{"an aborted tool", d.abortTool},
			{"drops and pressure", d.pressure},
			{"another branch of the tree", d.revert},
			{"a branch with a summary of the one that was left", func() { d.summarizedBranch(p) }},
			{"a command of the user's shell", func() { d.shell(p) }},
			{"another model, and back", d.otherModel},
			{"a reload of the extensions", func() { d.reload(p) }},
			{"pressure in the middle of a turn", d.force},
			{"another session, and back", d.otherSession},
			{"a fork", d.fork},
			{"a fork from the middle", d.forkEarlier},
			{"Pi's own compaction", func() { d.piCompaction(p) }},
		}
	}
	for _, scene := range scenes {
		scene.play()
		if d.err != nil {
			return fmt.Errorf("%s: %w", scene.name, d.err)
		}
	}
	return d.finish()
}

// Each scene leaves the session in a state in which any other scene can follow.

func (d *director) work() {
	d.turn("Read some of the project.", append(d.reads(12), mockllm.Say("I have read some."))...)
	d.turn("What do you make of it?", mockllm.Say("It is a host and its shims."))
}

func (d *director) image() {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	d.mock.Enqueue(append(d.reads(1), mockllm.Say("It is one pixel."))...)
	d.fail(d.agent.Send(d.ctx, d.session, opencodetest.Prompt{
		Text: "What is in this picture?", Files: []opencodetest.File{{Mime: "image/png", Name: "pixel.png", URL: "data:image/png;base64," + pixel}},
	}))
	d.turn("Thanks.", mockllm.Say("You are welcome."))
}

// The provider demands a pause. After the pause, OpenCode sends the request again.
func (d *director) retries() {
	soon := http.Header{"Retry-After-Ms": {"20"}}
	busy := mockllm.Step{Error: &mockllm.HTTPError{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "too many requests", Header: soon}}
	broken := mockllm.Step{Error: &mockllm.HTTPError{Status: http.StatusInternalServerError, Type: "api_error", Message: "internal server error", Header: soon}}
	steps := []mockllm.Step{busy}
	steps = append(steps, d.reads(2)...)
	steps = append(steps, broken)
	steps = append(steps, d.reads(2)...)
	d.turn("Read on, whatever happens.", append(steps, mockllm.Say("That took a while."))...)
}

func (d *director) overflow() {
	d.failingTurn("And all the rest.", append(d.reads(1),
		mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 214003 tokens > 200000 maximum"))...)
	d.turn("Only a little of it then.", append(d.reads(1), mockllm.Say("Done."))...)
}

func (d *director) brokenAnswer() {
	d.failingTurn("Explain it.", mockllm.Step{Blocks: []mockllm.Block{
		mockllm.Thinking("Where do I begin?", "c2lnbmF0dXJlLSVvdmVy"),
		mockllm.Text("At first there is"),
		mockllm.StreamError("invalid_request_error", "the stream ended"),
	}})
	d.turn("Go on.", append(d.reads(1), mockllm.Say("Where was I?"))...)
}

func (d *director) abortAnswer() {
	d.interrupt("Explain it once more.", append(d.reads(1), mockllm.Step{Hang: true})...)
	d.turn("Are you there?", mockllm.Say("Here I am."))
}

func (d *director) abortTool() {
	started := filepath.Join(d.project(), ".git", "started") // a directory that no search looks into
	d.abortWhen(func() error { return d.fileExists(started) }, "Wait a minute.", d.call(
		d.tools().Bash("touch "+started+"; sleep 60", "Wait")))
	d.turn("That was too long.", append(d.reads(2), mockllm.Say("I will not do it again."))...)
}

// The pressure exceeds the execute threshold mid-turn. The requested drops are applied at the end of the turn.
func (d *director) pressure() {
	steps := append(d.reads(4), d.reduce("2-9"))
	steps = append(steps, d.reads(8)...)
	d.turn("Read a lot.", under(70, append(steps, mockllm.Say("That was a lot."))...)...)
	d.turn("More.", append(d.reads(3), mockllm.Say("Enough."))...)
}

func (d *director) revert() {
	d.turn("Name a colour.", append(d.reads(1), mockllm.Say("Green."))...)
	d.goBackTo("Name a colour.")
	d.turn("Name another colour.", append(d.reads(1), mockllm.Say("Blue."))...)
	d.turn("Sure?", mockllm.Say("Yes."))
}

func (d *director) unrevert() {
	d.goBackTo("Sure?")
	d.post("unrevert", map[string]any{})
	d.turn("Really?", mockllm.Say("Really."))
}

func (d *director) otherModel() {
	d.model = opencodetest.GPTModel
	d.turn("Do you see it as well?", append(d.reads(3), mockllm.Say("I do."))...)
	d.turn("All of it?", append([]mockllm.Step{d.reduce("12-14")}, mockllm.Say("All of it."))...)
	d.model = opencodetest.ClaudeModel
	d.turn("And you?", append(d.reads(3), mockllm.Say("So do I."))...)
	d.turn("Good.", mockllm.Say("Good."))
}

// Above the force level, drops are applied mid-turn.
func (d *director) force() {
	steps := append(d.reads(6), d.reduce("15-24"))
	steps = append(steps, under(88, d.reads(1)...)...)
	steps = append(steps, d.reads(4)...)
	d.turn("Read the largest ones.", append(steps, mockllm.Say("They were large."))...)
}

func (d *director) fork() {
	original := d.session
	d.forkAt("")
	old := "26-34" // tags that the earlier busts have not dropped
	if d.harness == schema.HarnessPi {
		old = "60-68"
	}
	steps := append(d.reads(3), d.reduce(old))
	d.turn("Suppose that it were otherwise.", under(70, append(append(steps, d.reads(18)...), mockllm.Say("Then it would be."))...)...)
	d.turn("Would it?", append(d.reads(2), mockllm.Say("It would."))...)
	d.session = original
	d.turn("Back to this one.", append(d.reads(2), mockllm.Say("Here we are."))...)
}

func (d *director) forkEarlier() {
	original := d.session
	d.forkAt("Name another colour.")
	d.turn("Name a shape.", append(d.reads(2), mockllm.Say("A square."))...)
	d.turn("Sure?", mockllm.Say("Yes."))
	d.session = original
}

func (d *director) compaction() {
	if d.err == nil {
		d.err = d.agent.(*agent.OpenCode).Summarize(d.ctx, d.session, opencodetest.ClaudeModel)
	}
	d.turn("Where were we?", append(d.reads(6), d.reduce("126-134"), mockllm.Say("Somewhere."))...)
	d.turn("Read it all again.", under(70, append(d.reads(18), mockllm.Say("Read."))...)...)
	d.turn("And sum up.", append(d.reads(2), mockllm.Say("That was it."))...)
}

// The provider refuses a prompt as too long. In the same turn, Pi sends the request again.
func (d *director) repeatedOverflow() {
	steps := append(d.reads(1), mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 214003 tokens > 200000 maximum"))
	d.turn("And all the rest.", append(append(steps, d.reads(1)...), mockllm.Say("That was all."))...)
}

// The user leaves a branch, and the model summarises it.
func (d *director) summarizedBranch(p *agent.Pi) {
	d.turn("Name a number.", append(d.reads(1), mockllm.Say("Seven."))...)
	if d.err == nil {
		entry, err := p.PromptEntry(d.ctx, "Name a number.")
		d.fail(errors.Join(err, p.Navigate(d.ctx, entry+" summarize")))
	}
	d.turn("Name another number.", mockllm.Say("Eight."))
}

// The user runs two shell commands. The second is excluded from the context, so the model sees only the first.
func (d *director) shell(p *agent.Pi) {
	for i, command := range []string{"head -n 3 go.mod", "date"} {
		if d.err == nil {
			d.fail(p.Call(d.ctx, "bash", map[string]any{"command": command, "excludeFromContext": i == 1}, nil))
		}
	}
	d.turn("Which Go is it?", mockllm.Say("A recent one."))
}

func (d *director) reload(p *agent.Pi) {
	if d.err == nil {
		d.fail(p.Reload(d.ctx))
	}
	d.turn("Still there?", append(d.reads(2), mockllm.Say("Still here."))...)
}

func (d *director) otherSession() {
	if d.err != nil {
		return
	}
	original := d.session
	var err error
	d.session, err = d.agent.Begin(d.ctx)
	d.fail(err)
	d.turn("Something else.", append(d.reads(3), mockllm.Say("Here it is."))...)
	d.session = original
	d.turn("Where were we?", append(d.reads(2), mockllm.Say("Here."))...)
}

func (d *director) piCompaction(p *agent.Pi) {
	if d.err == nil {
		d.fail(p.Pi.Compact(d.ctx))
	}
	d.turn("Where were we then?", append(d.reads(6), mockllm.Say("Somewhere."))...)
	d.turn("And sum up.", append(d.reads(2), mockllm.Say("That was it."))...)
}

// `under` makes the provider report, for these steps, that the prompt fills this percentage of the window.
func under(percent int, steps ...mockllm.Step) []mockllm.Step {
	prompt := opencodetest.DefaultLimits.Context * percent / 100
	for i := range steps {
		steps[i].Usage = &promptcache.Tokens{Fresh: 100, Read: prompt - 100}
	}
	return steps
}
