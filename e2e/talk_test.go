package e2e

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

const historyWindow = 64_000

// Each message of a talk begins with a mark, for example "task 3:" or "finding 3.7:". The marks tell a test which
// messages a request contains.
type talk struct {
	*world
	agent   agent.Agent
	session string
	name    string // each prompt of the talk contains the name, so that the requests of its historian can be recognised
	reader  *worker
	// `words` is the length of each prompt and of each finding. `lines` is the number of lines that each step reads.
	words, lines int

	// mu guards all fields below.
	mu    sync.Mutex
	turns int
	step  int // the number of the current step in the turn
	steps int // the number of steps of the turn
	asked int // the number of requests of the historian

	passes  []store.PassRow
	rows    []chronicle.Compartment
	runs    []work.RunRow
	summary store.HistorySummary
}

func (w *world) withHistorian() opencodetest.Options {
	w.t.Helper()
	w.configure(`{"historian": {"disable": false}}`)
	o := w.withPlugin()
	o.Limits = opencodetest.Limits{Context: historyWindow, Output: 4_000}
	return o
}

// talk starts a session of the agent. When the host asks this session's historian to summarise a range of messages, the
// historian's model answers with answer(range).
func (w *world) talk(a agent.Agent, name string, answer func(chronicle.Range) mockllm.Step) *talk {
	w.t.Helper()
	k := &talk{world: w, agent: a, session: w.session(a), name: name, reader: w.worker(mockllm.Anthropic), words: 100, lines: 30}
	w.mock.AddRule(mockllm.Rule{
		Name:  k.historianRule(),
		Match: func(r *mockllm.Request) bool { return shownToHistorian(r, name) != chronicle.Range{} },
		Answer: func(r *mockllm.Request) mockllm.Step {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.asked++
			return answer(shownToHistorian(r, name))
		},
	})
	w.mock.AddRule(mockllm.Rule{
		Name: k.session, Match: func(r *mockllm.Request) bool { return r.Session() == k.session }, Answer: k.answer,
	})
	return k
}

func (k *talk) historianRule() string { return "the historian of " + k.name }

func shownToHistorian(r *mockllm.Request, name string) chronicle.Range {
	if prompt := textAt(r, 0, 0); strings.Contains(prompt, name+" task ") || strings.Contains(prompt, name+" finding ") {
		return historiantest.RangeOf(prompt)
	}
	return chronicle.Range{}
}

// A turn adds 1 + steps messages.
func (k *talk) turn(steps int) {
	k.t.Helper()
	k.mu.Lock()
	k.turns, k.step, k.steps = k.turns+1, 0, steps
	k.mu.Unlock()
	k.prompt(k.agent, k.session, k.said(fmt.Sprintf("task %d", k.turns)))
}

// settle waits until the historian is idle. The scripted model answers at once, so without this pause between prompts,
// the talk would take hundreds of steps during one run of the historian.
func (k *talk) settle() {
	k.t.Helper()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		begun := 0
		for line := range strings.Lines(k.logs()["host.log"]) {
			if !strings.Contains(line, k.session) {
				continue
			}
			switch {
			case strings.Contains(line, `"the historian begins"`):
				begun++
			case strings.Contains(line, `"history is published"`), strings.Contains(line, `"the historian has failed"`):
				begun--
			}
		}
		if begun <= 0 { // an extract is published by a pass, without a run that has begun
			return
		}
		select {
		case <-tick.C:
		case <-k.ctx.Done():
			k.t.Fatal("a run of the historian does not end")
		}
	}
}

func (k *talk) said(mark string) string {
	return fmt.Sprintf("%s %s: the amber service waits%s.", k.name, mark, strings.Repeat(" for the next job", k.words/4))
}

// answer plays the model of a talk. In each step, the model writes a finding and reads more lines. If the prompt
// exceeds the window, answer refuses the request, as a provider would.
func (k *talk) answer(r *mockllm.Request) mockllm.Step {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := r.Tokens(); n > historyWindow {
		return refusal(r.Dialect, n, historyWindow)
	}
	k.step++
	finding := mockllm.Text(k.said(fmt.Sprintf("finding %d.%d", k.turns, k.step)))
	if k.step == k.steps {
		return mockllm.Step{Blocks: []mockllm.Block{finding}}
	}
	return mockllm.Step{Blocks: []mockllm.Block{finding, k.reader.read(k.lines, false)}}
}

func (k *talk) flush() {
	k.t.Helper()
	if err := k.agent.Command(k.ctx, k.session, "ctx-flush"); err != nil {
		k.t.Fatal(err)
	}
}

// Neither harness nor host may run during read.
func (k *talk) read() {
	k.t.Helper()
	k.passes = k.journal(k.session)
	s, err := store.Open(k.ctx, store.Options{Dir: k.user.DataDir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer s.Close()
	key := store.Key{Harness: string(k.harness), Session: k.session}
	if k.rows, _, err = s.History.Compartments(k.ctx, key); err != nil {
		k.t.Fatal(err)
	}
	if k.runs, err = s.Runs.Of(k.ctx, store.HistorianOf(key), 0); err != nil {
		k.t.Fatal(err)
	}
	if k.summary, err = s.History.Summary(k.ctx, key); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talk) publishes() []work.RunRow {
	all := slices.DeleteFunc(slices.Clone(k.runs), func(r work.RunRow) bool { return r.Status != work.Success })
	slices.Reverse(all)
	return all
}

type shownHead struct {
	baseline, delta string
	// `shown` holds the ranges of messages that the head summarises, one for each compartment. Archived compartments that
	// follow each other count as one range. `through` is the last message of the last range.
	shown   []chronicle.Range
	through int
}

var (
	compartmentTag = regexp.MustCompile(`<compartment start="(\d+)" end="(\d+)"`)
	archivedTag    = regexp.MustCompile(`<archived ranges="([^"]*)"`)
	rangePattern   = regexp.MustCompile(`(\d+)(?:-(\d+))?`)
)

func headOf(r *mockllm.Request) (h shownHead) {
	if textAt(r, 1, 0) != history.Acknowledgement {
		return h
	}
	h.baseline, h.delta = textAt(r, 0, 0), deltaOf(r)
	if m := archivedTag.FindStringSubmatch(h.baseline); m != nil {
		for _, m := range rangePattern.FindAllStringSubmatch(m[1], -1) {
			h.add(m[1], m[len(m)-1])
		}
	}
	for _, m := range compartmentTag.FindAllStringSubmatch(h.baseline+h.delta, -1) {
		h.add(m[1], m[2])
	}
	return h
}

func (h *shownHead) add(start, end string) {
	from, _ := strconv.Atoi(start)
	to, err := strconv.Atoi(end)
	if err != nil {
		to = from // the range has only one message
	}
	h.shown, h.through = append(h.shown, chronicle.Range{Start: from, End: to}), to
}

var markPattern = regexp.MustCompile(`\b(?:task \d+|finding \d+\.\d+):`)

func marksBehind(r *mockllm.Request, h shownHead) (marks []string) {
	first := 0
	if h.baseline != "" {
		first = 2
	}
	for i, m := range r.Messages[first:] {
		for j, c := range m.Content {
			if c.Type != "text" || first > 0 && i == 0 && j == 0 { // behind a head, the first text is the delta
				continue
			}
			if mark := markPattern.FindString(c.Text); mark != "" {
				marks = append(marks, mark)
			}
		}
	}
	return marks
}

// Each message must be in the request or in a summary. The provider must accept each request, and find the expected
// part of it in the cache.
func (k *talk) checkHistory() {
	k.t.Helper()
	requests := k.requests(k.session)
	k.explainAFailure(requests)
	checkBusts(k.t, requests, k.passes)
	checkCache(k.t, requests, k.passes)
	var all []string // the marks of all messages so far, in their order
	seen := map[string]bool{}
	before := shownHead{}
	shownBefore := map[string]bool{}
	var mayStay []string // the prompts that the head may pin: the newest two at the time when the head was made
	for i, r := range requests {
		checkRequest(k.t, r)
		if n := r.Tokens(); n > historyWindow {
			k.t.Errorf("request %d has %d tokens", i, n)
		}
		h := headOf(r)
		k.checkRanges(i, h)
		if h.baseline != "" {
			k.checkHeadBreakpoints(r)
			k.checkIsData(i, h)
		}
		pass := k.passes[min(i, len(k.passes)-1)]
		if before.baseline != h.baseline && pass.Verdict != string(schema.Hard) || before.delta != h.delta && !pass.Bust {
			k.t.Errorf("the head of request %d is new, on a %s pass (%s), bust: %v", i, pass.Verdict, pass.Cause, pass.Bust)
		}
		shown := map[string]bool{}
		for _, mark := range marksBehind(r, h) {
			shown[mark] = true
			if !seen[mark] {
				seen[mark] = true
				all = append(all, mark)
			}
		}
		prompts := slices.DeleteFunc(slices.Clone(all), func(mark string) bool { return !strings.HasPrefix(mark, "task") })
		if before.baseline != h.baseline || before.delta != h.delta {
			mayStay = prompts[max(0, len(prompts)-2):]
		}
		if newest := prompts[len(prompts)-1]; !shown[newest] {
			k.t.Errorf("request %d lacks the newest prompt (%s)", i, newest)
		}
		for n, mark := range all {
			switch isCovered := n < h.through; {
			case isCovered && shown[mark] && !slices.Contains(mayStay, mark):
				k.t.Errorf("request %d shows message %d (%s) after the head, which covers it", i, n+1, mark)
			case !isCovered && !shown[mark] && strings.HasPrefix(mark, "task"):
				k.t.Errorf("request %d has lost message %d (%s): the head ends at %d", i, n+1, mark, h.through)
			case !isCovered && !shown[mark] && shownBefore[mark] && pass.EditsAdded == 0:
				k.t.Errorf("request %d has lost message %d (%s) without an edit", i, n+1, mark)
			}
		}
		before, shownBefore = h, shown
	}
	if want := k.messages(); len(all) != want-1 {
		k.t.Errorf("the requests show %d messages, want all but the last of %d", len(all), want)
	}
}

func (k *talk) messages() int { return k.turns + len(k.requests(k.session)) }

func (k *talk) checkRanges(request int, h shownHead) {
	k.t.Helper()
	starts, ends := map[int]bool{}, map[int]bool{}
	for _, row := range k.rows {
		starts[row.Start], ends[row.End] = true, true
	}
	next := 1
	for _, s := range h.shown {
		if s.Start != next || !starts[s.Start] || !ends[s.End] {
			k.t.Errorf("request %d shows the compartments %v", request, h.shown)
			return
		}
		next = s.End + 1
	}
}

// A compartment's text must not contain a character that could end the element.
var compartmentElement = regexp.MustCompile(`<compartment start="\d+" end="\d+" title="[^"<>]*"(?: />|>\n[^<>]*\n</compartment>)`)

// checkIsData fails if some of a compartment's text is outside its element.
func (k *talk) checkIsData(request int, h shownHead) {
	k.t.Helper()
	rest := compartmentElement.ReplaceAllString(h.baseline+h.delta, "")
	for _, foreign := range []string{k.name, "<compartment ", "<system>", "END DATA", historiantest.Instruction} {
		if strings.Contains(rest, foreign) {
			k.t.Errorf("request %d: %q stands outside a compartment:\n%s", request, foreign, rest)
		}
	}
	if n := strings.Count(rest, "</session-history>"); n > 1 {
		k.t.Errorf("request %d closes its history %d times", request, n)
	}
}

func (k *talk) explainAFailure(requests []*mockllm.Request) {
	k.t.Cleanup(func() {
		if !k.t.Failed() {
			return
		}
		for i, r := range requests {
			p := k.passes[min(i, len(k.passes)-1)]
			if h := headOf(r); p.Verdict != string(schema.Steady) {
				k.t.Logf("request %d: %s %s, bust %v %s, pressure %.2f, size %d, %d edits; the provider counts %d; the head shows %v",
					i, p.Verdict, p.Cause, p.Bust, p.BustCause, p.Pressure, p.SizeTokens, p.EditsAdded, r.Tokens(), h.shown)
			}
		}
		for _, r := range k.runs {
			k.t.Logf("run %d of pass %d: %s %d-%d by %s, because of %s", r.Run, r.Pass, r.Status, r.Start, r.End, r.MadeBy, r.Reason)
		}
		k.t.Logf("the historian was asked %d times; %d failures, the last one: %s", k.asked, k.summary.Failures, k.summary.LastError)
	})
}
