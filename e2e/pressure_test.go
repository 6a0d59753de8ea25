package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// OpenCode's system prompt and tools take about 8,300 tokens of a window. The newest 20 calls take about 8,000, and are
// protected from drops.
const (
	largeWindow = 40_000
	smallWindow = 26_000
)

type dialectCase struct {
	dialect      mockllm.Dialect
	large, small string
}

var dialects = []dialectCase{
	{mockllm.Anthropic, opencodetest.ClaudeModel, opencodetest.SmallModel},
	{mockllm.OpenAI, opencodetest.GPTModel, opencodetest.SmallGPTModel},
}

type drive struct {
	*world
	dialectCase
	oc      agent.Agent
	worker  *worker
	session string
	rule    string // the name of the mock's rule that answers its requests
}

type pressureCase struct {
	name  string
	in    []dialectCase
	play  func(*drive)
	check func(*testing.T, *drive, []*mockllm.Request, []store.PassRow)
}

// Without -all, OpenCode runs only the first dialect. Pi is four times as fast, so it runs all.
func dialectsIn(h schema.Harness, of []dialectCase) []dialectCase {
	switch {
	case suite.All():
		return dialects
	case h == schema.HarnessOpenCode:
		return of[:1]
	}
	return of
}

// Without -all, OpenCode plays only the first two sessions.
var pressures = []pressureCase{
	{"to 85 percent", dialects, toForce, checkToForce},
	{"with an image", dialects[:1], withImage, checkWithImage},
	{"over 95 percent at once", dialects, toEmergency, checkToEmergency},
	{"to a smaller window", dialects[1:], toSmallerWindow, checkToSmallerWindow},
}

func TestPressure(t *testing.T) {
	cases := pressures
	if !suite.All() {
		cases = pressures[:2]
	}
	testPressure(t, schema.HarnessOpenCode, append(slices.Clip(cases), pressureCase{"as a subagent", dialects[:1], asSubagent, checkAsSubagent}))
}

func testPressure(t *testing.T, h schema.Harness, cases []pressureCase) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	oc := w.launch(w.withWindows())

	type played struct {
		name  string
		drive *drive
		check func(*testing.T, *drive, []*mockllm.Request, []store.PassRow)
	}
	var sessions []played
	for _, tc := range cases {
		for _, d := range dialectsIn(h, tc.in) {
			name := fmt.Sprintf("%s, %s", tc.name, d.dialect)
			t.Run(name+"/play", func(t *testing.T) {
				in := w.in(t)
				drive := &drive{world: in, dialectCase: d, oc: oc, worker: in.worker(d.dialect)}
				tc.play(drive)
				sessions = append(sessions, played{name, drive, tc.check})
			})
		}
	}
	w.stop(oc)
	w.stopHost()
	for _, p := range sessions {
		t.Run(p.name+"/check", func(t *testing.T) {
			d := *p.drive
			d.world = w.in(t)
			requests, passes := d.requests(d.rule), d.journal(d.session)
			d.checkAll(requests, passes)
			checkCache(t, requests, passes)
			p.check(t, &d, requests, passes)
		})
	}
}

func (w *world) withWindows() opencodetest.Options {
	o := w.withPlugin()
	o.Limits = opencodetest.Limits{Context: largeWindow, Output: 4_000}
	small := opencodetest.Limits{Context: smallWindow, Output: 4_000}
	o.LimitsOf = map[string]opencodetest.Limits{opencodetest.SmallModel: small, opencodetest.SmallGPTModel: small}
	return o
}

func (d *drive) open() {
	d.t.Helper()
	d.session = d.world.session(d.oc)
	d.rule = d.session
	session := d.session // a copy: d.session changes if the drive continues in a fork
	d.worker.serve(d.world, d.rule, func(r *mockllm.Request) bool { return r.Session() == session })
}

// Each drive has its own prompt. With equal prompts, a drive would find the prefix of another drive in the cache.
func (d *drive) task() opencodetest.Prompt {
	return opencodetest.Prompt{Text: "What fails in job.log? (" + d.t.Name() + ")"}
}

func (d *drive) prompt(p opencodetest.Prompt) {
	d.t.Helper()
	if p.Model == "" {
		p.Model = d.large
	}
	if err := d.oc.Send(d.ctx, d.session, p); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drive) checkAll(requests []*mockllm.Request, passes []store.PassRow) {
	d.t.Helper()
	d.t.Cleanup(func() {
		for i := 0; d.t.Failed() && i < min(len(passes), len(requests)); i++ {
			p := passes[i]
			d.t.Logf("pass %d: %s %s, bust %v %s, pressure %.2f, size %d, goal %d, price %+v, %d edits; the provider counts %d",
				i, p.Verdict, p.Cause, p.Bust, p.BustCause, p.Pressure, p.SizeTokens, p.GoalTokens, p.Price, p.EditsAdded, requests[i].Tokens())
		}
	})
	for _, r := range requests {
		checkRequest(d.t, r)
	}
	checkTags(d.t, requests)
	checkBusts(d.t, requests, passes)
	checkThoughts(d.t, d.worker, requests)
}

// checkThoughts fails if a signed thought was changed. A thought may be missing, unless it is the one before the newest
// calls: without it, Anthropic would refuse the results of these calls.
func checkThoughts(t *testing.T, k *worker, requests []*mockllm.Request) {
	t.Helper()
	shown := 0
	for _, r := range requests {
		if r.Dialect != mockllm.Anthropic {
			continue
		}
		for _, m := range r.Messages {
			for _, c := range m.Content {
				if !isThinking(c) {
					continue
				}
				shown++
				if !k.thoughts[thought{c.Text, c.Signature}] {
					t.Errorf("request %d: nobody thought %q signed %q", r.Seq, c.Text, c.Signature)
				}
			}
		}
		if !isMidTurn(r) {
			continue
		}
		step := r.Messages[len(r.Messages)-2]
		call := step.Content[len(step.Content)-1]
		if first := step.Content[0]; !isThinking(first) || (thought{first.Text, first.Signature}) != k.thoughtOf[call.ID] {
			t.Errorf("request %d: call %s does not begin with its thought %+v but with %+v", r.Seq, call.ID, k.thoughtOf[call.ID], first)
		}
	}
	if shown == 0 && k.dialect == mockllm.Anthropic {
		t.Error("no request holds a thought")
	}
}

func isMidTurn(r *mockllm.Request) bool {
	last := r.Messages[len(r.Messages)-1]
	return slices.ContainsFunc(last.Content, func(c mockllm.Content) bool { return c.Type == "tool_result" })
}

type relief struct {
	cause    string
	from, to float64
}

const (
	protectedTags = 20
	// The provider counts tokens differently than the host, so the size of the prompt after a bust may miss the goal by
	// this much.
	goalSlack = largeWindow / 20
)

// checkRelief fails unless the session has exactly one bust, and this bust happens mid-turn because of pressure. The
// bust must reach its goal, or remove everything that is not protected. checkRelief returns the bust's index.
func checkRelief(t *testing.T, want relief, requests []*mockllm.Request, passes []store.PassRow) (at int) {
	t.Helper()
	var busts []int
	for i, p := range passes {
		if p.Bust {
			busts = append(busts, i)
		}
	}
	if len(busts) != 1 {
		t.Fatalf("busts at %v, want one", busts)
	}
	at = busts[0]
	p := passes[at]
	if p.Cause != want.cause || p.Pressure < want.from || p.Pressure >= want.to {
		t.Errorf("the bust at %d has cause %s and pressure %.2f, want %+v", at, p.Cause, p.Pressure, want)
	}
	if !isMidTurn(requests[at]) {
		t.Errorf("the bust at %d is not in the middle of a turn", at)
	}
	if at+2 >= len(requests) {
		t.Errorf("the session ends at %d, soon after the bust at %d", len(requests), at)
	}
	before, now := requests[at-1].Tokens(), requests[at].Tokens()
	left := len(slices.DeleteFunc(units(requests[at]), func(u unit) bool { return u.isDropped || !strings.HasPrefix(u.id, "toolu_") }))
	if now >= before || p.GoalTokens == 0 || now > p.GoalTokens+goalSlack && left > protectedTags {
		t.Errorf("the bust at %d gets from %d tokens to %d with %d results, its goal is %d", at, before, now, left, p.GoalTokens)
	}
	return at
}

func toForce(d *drive) {
	d.open()
	d.worker.until(relieved(3))
	d.prompt(d.task())
	d.worker.until(steps(1))
	d.prompt(opencodetest.Prompt{Text: "Sure?"})
}

func checkToForce(t *testing.T, _ *drive, requests []*mockllm.Request, passes []store.PassRow) {
	checkRelief(t, relief{"force", 0.85, 0.95}, requests, passes)
}

func toEmergency(d *drive) {
	d.open()
	d.worker.lines = func(tokens int) int {
		if tokens > largeWindow*4/5 {
			return largeLines
		}
		return usualLines
	}
	d.worker.until(relieved(1))
	d.prompt(d.task())
	d.worker.until(steps(0))
	d.prompt(opencodetest.Prompt{Text: "Sure?"})
}

func checkToEmergency(t *testing.T, _ *drive, requests []*mockllm.Request, passes []store.PassRow) {
	at := checkRelief(t, relief{"force", 0.95, 2}, requests, passes)
	results := requests[at].Messages[len(requests[at].Messages)-1].Content
	if newest := results[len(results)-1]; len(newest.Text) < largeLines*40 {
		t.Errorf("the result that the model has not read yet is now %.100q", newest.Text)
	}
}

func withImage(d *drive) {
	d.open()
	d.worker.until(relieved(1))
	p := d.task()
	p.Files = []opencodetest.File{picture(d.t)}
	d.prompt(p)
	d.worker.until(steps(1))
	d.prompt(opencodetest.Prompt{Text: "Sure?"}) // the host knows only now that the model has answered the image
	d.flush()
	d.worker.until(steps(1))
	d.prompt(opencodetest.Prompt{Text: "Really?"})
}

func checkWithImage(t *testing.T, d *drive, requests []*mockllm.Request, passes []store.PassRow) {
	gone := slices.IndexFunc(passes, func(p store.PassRow) bool { return p.Cause == "flush" })
	if gone < 0 || !passes[gone].Bust {
		t.Fatalf("no bust by the user's command: %d", gone)
	}
	for i, r := range requests {
		has := func(is func(mockllm.Content) bool) bool { return slices.ContainsFunc(r.Messages[0].Content, is) }
		image := has(func(c mockllm.Content) bool { return c.Type == "image" || c.Type == "image_url" })
		placeholder := has(func(c mockllm.Content) bool { return droppedPattern.MatchString(c.Text) })
		text := has(func(c mockllm.Content) bool { return strings.Contains(c.Text, "What fails in job.log?") })
		if image != (i < gone) || placeholder != (i >= gone) || !text {
			t.Errorf("request %d begins with %+v, the command is obeyed in request %d", i, r.Messages[0].Content, gone)
		}
	}
}

func toSmallerWindow(d *drive) {
	d.open()
	d.worker.until(above(smallWindow * 11 / 10))
	d.prompt(d.task())
	d.worker.until(steps(2))
	d.prompt(opencodetest.Prompt{Text: "What do you say?", Model: d.small})
	d.worker.until(steps(1))
	d.prompt(opencodetest.Prompt{Text: "Sure?", Model: d.small})
}

func checkToSmallerWindow(t *testing.T, d *drive, requests []*mockllm.Request, passes []store.PassRow) {
	_, small, _ := strings.Cut(d.small, "/")
	first := slices.IndexFunc(requests, func(r *mockllm.Request) bool { return r.Model == small })
	if first < 1 || requests[first-1].Tokens() <= smallWindow {
		t.Fatalf("the session does not outgrow the smaller window before request %d", first)
	}
	if p := passes[first]; p.Verdict != "hard" || p.Cause != "model-changed" {
		t.Errorf("the first pass for the smaller model is %s, %s", p.Verdict, p.Cause)
	}
	for _, r := range requests[first:] {
		if r.Tokens() > smallWindow {
			t.Errorf("request %d has %d tokens, the window %d", r.Seq, r.Tokens(), smallWindow)
		}
	}
	for i, p := range passes {
		if p.Bust && i != first {
			t.Errorf("pass %d busts (%s); the model changed at %d", i, p.Cause, first)
		}
	}
}

const parentHeader = "X-Parent-Session-Id"

func asSubagent(d *drive) {
	parent := d.world.session(d.oc)
	d.rule = "subagent of " + parent
	// The test wants a bust for pressure, below the force level. The host makes such a bust only if it pays off, that
	// is, if many more requests fit before the prompt reaches the force level. So the last steps are small.
	d.worker.lines = func(tokens int) int {
		if tokens > largeWindow/2 {
			return usualLines / 3
		}
		return usualLines
	}
	d.worker.until(relieved(3))
	d.worker.serve(d.world, d.rule, func(r *mockllm.Request) bool { return r.Header.Get(parentHeader) == parent })
	d.play(parent, mockllm.Call("toolu_task", "task", map[string]any{
		"description": "Read the log", "prompt": d.task().Text, "subagent_type": "general",
	}), mockllm.Say("Nothing fails."))
	if err := d.oc.Send(d.ctx, parent, opencodetest.Prompt{Text: "Have the log read.", Model: d.large}); err != nil {
		d.t.Fatal(err)
	}
	d.wantInBody(d.last(parent), "Found nothing by step", true)
	d.session = d.last(d.rule).Session()
}

// A subagent has only one turn. So its bust cannot wait for the next turn, and must happen in the middle of this one.
func checkAsSubagent(t *testing.T, _ *drive, requests []*mockllm.Request, passes []store.PassRow) {
	checkRelief(t, relief{"pressure", 0.65, 0.85}, requests, passes)
}

// The real window is smaller than the catalogue says, so the provider refuses a prompt. The next prompt must work.
func TestOverflow(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session, and OpenCode one in TestBoundThinking")
	testOverflow(t, schema.HarnessOpenCode)
}

func testOverflow(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.thinks = true
	oc := w.launch(w.withWindows())
	var drives []*drive
	for _, c := range dialectsIn(h, dialects) {
		d := &drive{world: w, dialectCase: c, oc: oc, worker: w.worker(c.dialect)}
		drives = append(drives, d)
		d.worker.window = smallWindow
		d.open()
		d.overflow()
		d.worker.until(steps(3))
		d.prompt(opencodetest.Prompt{Text: "Go on."})
		// The worker reads the same amount a second time. By now, the host knows the real window.
		d.worker.until(steps(14))
		d.prompt(opencodetest.Prompt{Text: "And on."})
	}
	w.stop(oc)
	w.stopHost()
	for _, d := range drives {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.world = w.in(t)
			requests, passes := d.requests(d.rule), d.journal(d.session)
			d.checkAll(requests, passes)
			checkOverflow(t, requests, passes)
		})
	}
}

// After a refused prompt, OpenCode ends the turn. Pi tries again, so the model works for some more steps.
func (d *drive) overflow() {
	d.t.Helper()
	d.worker.until(above(largeWindow))
	if d.harness == schema.HarnessPi {
		d.worker.until(d.worker.recovered(3))
	}
	err := d.oc.Send(d.ctx, d.session, opencodetest.Prompt{Text: "What fails here?", Model: d.large})
	switch {
	case d.harness == schema.HarnessPi && err != nil:
		d.t.Fatalf("the turn ends with %v", err)
	case d.harness != schema.HarnessPi && (err == nil || !strings.Contains(err.Error(), "ContextOverflowError")):
		d.t.Fatalf("the turn ends with %v, want an overflow", err)
	}
}

func checkOverflow(t *testing.T, requests []*mockllm.Request, passes []store.PassRow) {
	var refused []int
	for i, r := range requests {
		if r.Tokens() > smallWindow {
			refused = append(refused, i)
		}
	}
	if len(refused) != 1 {
		t.Fatalf("the provider refused the requests %v, want one", refused)
	}
	next := refused[0] + 1
	if p := passes[next]; p.Cause != "overflow" || !p.Bust {
		t.Errorf("the pass after the refusal is %s, %s", p.Verdict, p.Cause)
	}
	if requests[next].IsPi() {
		return // the turn continues
	}
	if last := requests[next].Messages; !strings.Contains(last[len(last)-1].Content[len(last[len(last)-1].Content)-1].Text, "Go on.") {
		t.Errorf("the request after the refusal does not end in the user's prompt: %+v", last[len(last)-1])
	}
}
