package e2e

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// With "refuse", a session ends at its first invalid block. To count the invalid blocks of whole sessions instead, run
// the tests with "drop":
//
//	go test ./e2e -run BoundThinking -v -args -binding=drop
var bindingMode = flag.String("binding", "refuse", "refuse or drop thinking whose prefix has changed, in the tests of models that bind it")

var binding = dialectCase{mockllm.Anthropic, opencodetest.BindingModel, opencodetest.OtherBindingModel}

func (w *world) bind() {
	mode := map[string]mockllm.Binding{"refuse": mockllm.BindingRefuse, "drop": mockllm.BindingDrop}[*bindingMode]
	if mode == mockllm.BindingOff {
		w.t.Fatalf("-binding is %q", *bindingMode)
	}
	var models []string
	for _, m := range []string{binding.large, binding.small} {
		_, id, _ := strings.Cut(m, "/")
		models = append(models, id)
	}
	w.mock.Bind(mode, models...)
}

func (w *world) withBinding() opencodetest.Options {
	o := w.withPlugin()
	o.Limits = opencodetest.Limits{Context: largeWindow, Output: 4_000}
	return o
}

func (w *world) newBound(oc agent.Agent) *drive {
	d := &drive{world: w, dialectCase: binding, oc: oc, worker: w.worker(mockllm.Anthropic)}
	d.worker.thinksAgain = true
	return d
}

func (d *drive) turn(n int, text string) {
	d.t.Helper()
	d.turnOf(n, opencodetest.Prompt{Text: text})
}

func (d *drive) turnOf(n int, p opencodetest.Prompt) {
	d.t.Helper()
	d.worker.until(steps(n))
	p.Text += " (" + d.t.Name() + ")"
	d.prompt(p)
}

// relievedTimes returns a function that decides when a test has played enough steps. The test calls it after each step
// with the size of the prompt. If the prompt has shrunk, the function counts a bust. It returns true when there have
// been n busts and then `more` further steps.
func relievedTimes(n, more int) func(int) bool {
	before := 0
	return func(tokens int) bool {
		if tokens < before {
			n--
		}
		before = tokens
		if n <= 0 {
			more--
		}
		return more < 0
	}
}

// The model's thinking is bound, and the provider refuses requests with invalid thinking. So if a session reaches its
// end, no request contained an invalid block.
func TestBoundThinking(t *testing.T) {
	testBoundThinking(t, schema.HarnessOpenCode, slices.Concat(bound, []boundCase{
		{"plan mode", true, boundPlan},
		{"subagent", true, boundSubagent},
	}))
}

type boundCase struct {
	name string
	// inBoth is true if the case depends on the harness, for example on the ids of its messages. All other cases run
	// only in Pi, which is four times as fast as OpenCode. With -all, they run in both.
	inBoth bool
	play   func(*drive)
}

var bound = []boundCase{
	{"no pressure", false, boundQuiet},
	{"pressure", false, boundPressure},
	{"over 95 percent at once", false, boundEmergency},
	{"overflow", true, boundOverflow},
	{"revert", false, boundRevert},
	{"fork", true, boundFork},
	{"flush", false, boundFlush},
	{"to a model that does not bind and back", false, func(d *drive) { boundSwitch(d, opencodetest.ClaudeModel) }},
	{"to another model that binds and back", false, func(d *drive) { boundSwitch(d, opencodetest.OtherBindingModel) }},
	{"a prompt in the middle of a turn", false, boundInterjection},
	{"an abort", true, boundAbort},
	{"a provider that is busy", false, boundBusy},
}

func testBoundThinking(t *testing.T, h schema.Harness, cases []boundCase) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	w.bind()
	oc := w.launch(w.withBinding())
	var drives []*drive
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if h == schema.HarnessOpenCode && !tc.inBoth {
				suite.OnlyWithAll(t, "Pi has this session")
			}
			d := w.in(t).newBound(oc)
			drives = append(drives, d)
			tc.play(d)
		})
	}
	w.stop(oc)
	w.stopHost()
	for _, d := range drives {
		t.Run(strings.TrimPrefix(d.t.Name(), t.Name()+"/")+"/check", func(t *testing.T) {
			d.world = w.in(t)
			d.checkBound()
		})
	}
}

// checkBound fails if a request contains invalid thinking, or thinking of another model. Thinking that was in one
// request may be missing from the next request only if there was a bust between the two.
func (d *drive) checkBound() {
	d.t.Helper()
	requests, passes := withoutRepeats(d.requests(d.rule)), withoutGuesses(d.journal(d.session))
	checkBusts(d.t, requests, passes)
	for _, r := range requests {
		checkGuidance(d.t, r)
		checkBreakpoints(d.t, r)
	}
	valid, invalid, foreign, refused := 0, 0, 0, 0
	newest := map[string]int{} // the newest request of each conversation
	for i, r := range requests {
		check := r.Thinking
		valid += check.Count(mockllm.BlockValid)
		invalid += check.Count(mockllm.BlockInvalid)
		foreign += check.Count(mockllm.BlockForeign)
		if first := slices.IndexFunc(check.Blocks, func(b mockllm.BoundBlock) bool { return b.State == mockllm.BlockInvalid }); first >= 0 {
			refused++
			if refused <= 3 {
				b := check.Blocks[first]
				d.t.Errorf("request %d: %s, of request %d, is invalid: %s", r.Seq, b.Where, b.Made, b.Why)
			}
		}
		last, ok := newest[r.Model]
		if !ok {
			last = i
		}
		newest[r.Model] = i
		busts := slices.ContainsFunc(passes[min(last+1, len(passes)):min(i+1, len(passes))], func(p store.PassRow) bool { return p.Bust })
		switch {
		case len(check.Missing) > 0 && !busts:
			d.t.Errorf("request %d leaves out %+v without a bust", r.Seq, check.Missing)
		case len(check.Missing) > 0:
			d.t.Logf("request %d: a bust (%s) takes %d blocks that it cuts off, %d with their answers, and %d that could stay; %d stay",
				r.Seq, passes[i].BustCause, check.CountMissing(mockllm.Cut), check.CountMissing(mockllm.Gone), check.CountMissing(mockllm.Lost),
				check.Count(mockllm.BlockValid))
		}
	}
	d.t.Logf("%d requests, %d with an invalid block; blocks sent: %d valid, %d invalid, %d of another model", len(requests), refused, valid, invalid, foreign)
	if valid == 0 || invalid > 0 || foreign > 0 {
		d.t.Errorf("blocks sent: %d valid, %d invalid, %d of another model", valid, invalid, foreign)
	}
}

// If the provider is busy, OpenCode sends the same request again, without a new pass.
func withoutRepeats(requests []*mockllm.Request) (kept []*mockllm.Request) {
	for i, r := range requests {
		if i+1 == len(requests) || !bytes.Equal(r.Body, requests[i+1].Body) {
			kept = append(kept, r)
		}
	}
	return kept
}

// withoutGuesses removes the passes whose answer the shim could not use. While the host worked on such a pass, the
// array changed, so the shim asked for another pass. Both passes have the same number of messages, which is how
// withoutGuesses finds them.
func withoutGuesses(passes []store.PassRow) []store.PassRow {
	next := map[int]int{} // by pass: the number of messages in the next pass
	for i, p := range passes[:max(0, len(passes)-1)] {
		next[p.Pass] = passes[i+1].Messages
	}
	return join(passes, func(p store.PassRow) bool {
		n, ok := next[p.Pass]
		return ok && n == p.Messages
	})
}

// join removes the passes for which no request was sent. If a removed pass was a bust, join counts the next pass as a
// bust, because the next request is the first one with the new prefix.
func join(passes []store.PassRow, isUnsent func(store.PassRow) bool) (kept []store.PassRow) {
	busted, cause := false, ""
	for _, p := range passes {
		if p.Bust {
			busted, cause = true, cmp.Or(cause, p.BustCause)
		}
		if isUnsent(p) {
			continue
		}
		p.Bust, p.BustCause = busted, cause
		kept = append(kept, p)
		busted, cause = false, ""
	}
	return kept
}

func boundQuiet(d *drive) {
	d.open()
	d.turn(12, "One.")
	d.turn(6, "Two.")
}

func boundPressure(d *drive) {
	d.open()
	d.worker.until(relievedTimes(3, 4))
	d.prompt(d.task())
	d.turn(3, "Go on.")
	d.turn(3, "And on.")
}

func boundEmergency(d *drive) {
	d.open()
	d.worker.lines = func(tokens int) int {
		if tokens > largeWindow*4/5 {
			return largeLines
		}
		return usualLines
	}
	d.worker.until(relieved(3))
	d.prompt(d.task())
	d.turn(3, "Go on.")
}

func boundOverflow(d *drive) {
	d.worker.window = smallWindow
	d.open()
	d.overflow()
	d.turn(4, "Go on.")
	d.turn(14, "And on.")
}

// boundRevert goes back twice: first to a point after a bust, then to a point before it.
func boundRevert(d *drive) {
	d.open()
	d.turn(4, "One.")
	d.turn(4, "Two.")
	d.worker.until(relievedTimes(1, 2))
	d.prompt(opencodetest.Prompt{Text: "Three."})
	d.turn(3, "Four.")
	for _, text := range []string{"Four.", "Two."} {
		if err := d.oc.GoBack(d.ctx, d.session, text); err != nil {
			d.t.Fatal(err)
		}
		d.turn(5, "Instead of "+text)
		d.turn(2, "Go on.")
	}
}

// The fork's messages have other ids than their originals.
func boundFork(d *drive) {
	d.open()
	d.turn(4, "One.")
	d.worker.until(relievedTimes(1, 4))
	d.prompt(opencodetest.Prompt{Text: "Two."})
	d.turn(4, "Three.")
	held := d.last(d.rule).Thinking.Count(mockllm.BlockValid)
	fork, err := d.oc.Copy(d.ctx, d.session)
	if err != nil {
		d.t.Fatal(err)
	}
	d.session, d.rule = fork, fork
	d.worker.serve(d.world, d.rule, func(r *mockllm.Request) bool { return r.Session() == fork })
	d.turn(4, "Four.")
	if first := d.requests(d.rule)[0].Thinking; first.Count(mockllm.BlockValid) < held {
		d.t.Errorf("the first request of the fork holds %d valid blocks, the last of the original %d", first.Count(mockllm.BlockValid), held)
	}
	d.turn(4, "Five.")
}

func (d *drive) flush() {
	d.t.Helper()
	if err := d.oc.Command(d.ctx, d.session, "ctx-flush"); err != nil {
		d.t.Error(err)
	}
}

// With /ctx-flush, the user makes the next pass apply the waiting drops.
func boundFlush(d *drive) {
	d.open()
	d.turn(14, "One.")
	d.worker.drops = "4-8"
	d.turn(2, "Two.")
	d.flush()
	d.turn(5, "Three.")
	d.flush()
	d.turn(3, "Four.")
}

func boundSwitch(d *drive, other string) {
	d.open()
	d.turn(6, "One.")
	d.turnOf(4, opencodetest.Prompt{Text: "Two.", Model: other})
	d.turn(4, "Three.")
	d.turnOf(2, opencodetest.Prompt{Text: "Four.", Model: other})
	d.worker.until(relievedTimes(1, 4))
	d.prompt(opencodetest.Prompt{Text: "Five."})
	d.turnOf(2, opencodetest.Prompt{Text: "Six.", Model: other})
	d.turn(2, "Seven.")
}

// In plan mode, OpenCode adds a reminder to the newest prompt, and removes it from there when a newer prompt comes.
func boundPlan(d *drive) {
	d.open()
	d.turn(2, "One.")
	d.turnOf(2, opencodetest.Prompt{Text: "Plan it.", Agent: "plan"})
	d.turnOf(2, opencodetest.Prompt{Text: "Build it.", Agent: "build"})
	d.turnOf(2, opencodetest.Prompt{Text: "Go on.", Agent: "build"})
	d.turnOf(2, opencodetest.Prompt{Text: "Plan again.", Agent: "plan"})
	d.turnOf(2, opencodetest.Prompt{Text: "And on.", Agent: "plan"})
}

func boundInterjection(d *drive) {
	d.open()
	d.turn(3, "One.")
	asked := false
	d.worker.until(func(int) bool {
		if !asked {
			asked = true
			p := opencodetest.Prompt{Text: "Hurry up.", Model: d.large}
			if err := d.oc.Interject(d.ctx, d.session, p); err != nil {
				d.t.Error(err)
			}
			d.worker.enough = steps(5)
		}
		return false
	})
	d.prompt(opencodetest.Prompt{Text: "Two."})
	d.turn(4, "Three.")
	d.turn(2, "Four.")
}

func boundAbort(d *drive) {
	d.open()
	d.turn(4, "One.")
	for _, text := range []string{"Two.", "Three."} {
		d.worker.until(steps(3))
		d.worker.hangs = 3
		arrived := make(chan struct{})
		d.worker.hanging = arrived
		idle := d.world.promptAsyncTo(d.oc, d.session, opencodetest.Prompt{Text: text, Model: d.large})
		d.wait(arrived, "a request that hangs")
		if err := d.oc.Abort(d.ctx, d.session); err != nil {
			d.t.Fatal(err)
		}
		d.wait(idle, "the session to be idle")
		d.turn(3, "Go on.")
	}
}

func boundBusy(d *drive) {
	d.open()
	d.turn(4, "One.")
	d.worker.busy = 1
	d.turn(4, "Two.")
	d.turn(2, "Three.")
}

func boundSubagent(d *drive) {
	parent := d.world.session(d.oc)
	d.rule = "subagent of " + parent
	d.worker.until(relievedTimes(1, 3))
	d.worker.serve(d.world, d.rule, func(r *mockllm.Request) bool { return r.Header.Get(parentHeader) == parent })
	thought := mockllm.Thinking("Somebody else could.", "")
	d.play(parent, mockllm.Step{Blocks: []mockllm.Block{thought, mockllm.Tool("toolu_task", "task", map[string]any{
		"description": "Read the log", "prompt": d.task().Text, "subagent_type": "general",
	})}}, mockllm.Step{Blocks: []mockllm.Block{thought, mockllm.Text("Nothing fails.")}}, mockllm.Say("Sure."))
	for _, text := range []string{"Have the log read.", "Sure?"} {
		if err := d.oc.Send(d.ctx, parent, opencodetest.Prompt{Text: text, Model: d.large}); err != nil {
			d.t.Fatal(err)
		}
	}
	if last := d.last(parent).Thinking; last.Count(mockllm.BlockValid) != 2 || len(last.Missing) > 0 {
		d.t.Errorf("the parent's last request: %+v", last)
	}
	d.session = d.last(d.rule).Session()
}

// After a long pause, the provider's cache is gone, so a pass busts. But the model still checks its thinking, so the
// pass must leave out all thinking that the bust makes invalid.
func TestBoundThinkingAfterAGap(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testBoundThinkingAfterAGap(t, schema.HarnessOpenCode)
}

func testBoundThinkingAfterAGap(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	w.configure(`{"cache_ttl": "1s"}`)
	w.bind()
	oc := w.launch(w.withBinding())
	d := w.newBound(oc)
	d.open()
	d.turn(14, "One.")
	for i := range 3 {
		time.Sleep(1100 * time.Millisecond) // longer than the configured cache life
		d.worker.drops = fmt.Sprintf("%d-%d", 3+4*i, 6+4*i)
		d.turn(5, fmt.Sprintf("Turn %d.", i))
	}
	w.stop(oc)
	w.stopHost()
	d.checkBound()
	if n := slices.IndexFunc(d.journal(d.session), func(p store.PassRow) bool { return p.Verdict == "hard" && p.Bust && p.Pass > 1 }); n < 0 {
		t.Error("no gap made a pass bust")
	}
}

// After a restart, OpenCode has only the part of the last answer that it had stored.
func TestBoundThinkingAfterARestart(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testBoundThinkingAfterARestart(t, schema.HarnessOpenCode)
}

func testBoundThinkingAfterARestart(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	w.bind()
	oc := w.launch(w.withBinding())
	d := w.newBound(oc)
	d.open()
	d.turn(6, "One.")
	for _, withHost := range []bool{false, true} {
		time.Sleep(time.Second) // a user does not quit before the answer's event has arrived
		w.stop(oc)
		if withHost {
			w.stopHost()
		}
		oc = w.relaunch(oc, w.withBinding())
		d.oc = oc
		d.turn(4, "Two.")
		d.worker.until(relievedTimes(1, 3))
		d.prompt(opencodetest.Prompt{Text: "Three."})
	}
	w.stop(oc)
	w.stopHost()
	d.checkBound()
}

func TestBoundThinkingWithAKilledHost(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testBoundThinkingWithAKilledHost(t, schema.HarnessOpenCode)
}

func testBoundThinkingWithAKilledHost(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	w.bind()
	oc := w.launch(w.withBinding())
	d := w.newBound(oc)
	d.open()
	done := make(chan struct{})
	killer := newKiller(w, 120)
	d.worker.arrived = killer.arrived
	go func() {
		defer close(done)
		killer.run()
	}()
	d.worker.until(relievedTimes(2, 3))
	d.prompt(d.task())
	d.turn(4, "Go on.")
	d.worker.until(relievedTimes(2, 3))
	d.prompt(opencodetest.Prompt{Text: "And on."})
	close(killer.orders)
	<-done
	w.stop(oc)
	w.stopHost()
	t.Logf("killed %d times", killer.killed)
	if killer.killed < 3 {
		t.Errorf("the host was killed %d times", killer.killed)
	}
	d.checkBound()
}
