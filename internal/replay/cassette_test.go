package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

const historyTrace = "history.jsonl.gz"

type recordedRun struct {
	title string
	// `asked` is the number of passes before the question. `before` is the number of passes before the answer to it.
	before, asked int
}

func runsOf(t *testing.T, trace []byte) (runs []recordedRun, unanswered int) {
	t.Helper()
	open := make(map[string]recordedRun)
	passes := 0
	for frame, err := range rpc.ReadTrace(bytes.NewReader(trace)) {
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     json.Value `json:"id"`
			Method string     `json:"method"`
			Params struct {
				Title string `json:"title"`
			} `json:"params"`
		}
		if err := json.Unmarshal(frame.Body, &m); err != nil {
			t.Fatal(err)
		}
		asked, isAnswer := open[string(m.ID)]
		switch {
		case frame.From == rpc.FromShim && m.Method == schema.MethodTransform:
			passes++
		case frame.From == rpc.FromHost && m.Method == schema.MethodAgentRun:
			open[string(m.ID)] = recordedRun{title: m.Params.Title, asked: passes}
		case frame.From == rpc.FromShim && m.Method == "" && isAnswer:
			asked.before = passes
			runs = append(runs, asked)
			delete(open, string(m.ID))
		}
	}
	return runs, len(open)
}

func mustRun(t *testing.T, trace []byte, o Options) Summary {
	t.Helper()
	report, err := Run(t.Context(), bytes.NewReader(trace), o)
	if err != nil {
		t.Fatal(err)
	}
	return report.Summary()
}

// The bug: a replay had no historian. So it showed no publication, and its prompts had no head.
func TestReplayPlaysTheRecordedHistorian(t *testing.T) {
	trace := bytes.Join(plain(t, historyTrace), nil)
	runs, unanswered := runsOf(t, trace)
	if len(runs) < 3 || !slices.ContainsFunc(runs, func(r recordedRun) bool { return r.before > r.asked+1 }) {
		t.Fatalf("the trace proves little: %+v", runs)
	}
	recorded := wiresOf(t, readSteps(t, filepath.Join(traces, historyTrace)))
	for _, asRecorded := range []bool{false, true} {
		var replayed []string
		s := mustRun(t, trace, Options{AsRecorded: asRecorded, Answered: func(m schema.WireMutation) { replayed = append(replayed, m.Wire) }})
		if !slices.Equal(replayed, recorded) {
			t.Errorf("as recorded %v: the wires are not the recorded ones. If that is meant to be, record the trace anew: go run ./e2e/record -only history", asRecorded)
		}
		if !s.IsClean() || len(s.Missing) > 0 || len(s.MissedRuns) > 0 || s.AskedRuns != len(runs)+unanswered {
			t.Errorf("as recorded %v: %d findings, missing %q, %d questions and %+v missed, want %d questions", asRecorded, s.Findings(), s.Missing, s.AskedRuns, s.MissedRuns, len(runs)+unanswered)
		}
		checkPublishes(t, s, runs)
		checkFolds(t, s)
	}
}

func wiresOf(t *testing.T, steps []step) (all []string) {
	t.Helper()
	for _, s := range steps {
		var m schema.WireMutation
		if s.method != schema.MethodTransform {
			continue
		}
		if err := json.Unmarshal(s.answer, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Wire)
	}
	return all
}

// checkPublishes checks the publication of each recorded run. The first pass after the recorded answer must already see
// the publication, and its compartments must cover the messages in the question.
func checkPublishes(t *testing.T, s Summary, runs []recordedRun) {
	t.Helper()
	if len(s.Publishes) != len(runs) {
		t.Fatalf("%d publications, want %d", len(s.Publishes), len(runs))
	}
	for i, p := range s.Publishes {
		if want := runs[i]; p.Pass != want.before+1 || fmt.Sprintf("history %d-%d", p.Start, p.End) != want.title {
			t.Errorf("pass %d shows the publication of %d-%d, want pass %d and %q", p.Pass, p.Start, p.End, want.before+1, want.title)
		}
		if p.Compartments == 0 || p.MadeBy != "model" || p.Fidelity <= 0 || p.Fidelity > 1 {
			t.Errorf("published: %+v", p)
		}
	}
}

// Each fold must have a reason, and compartments must be the largest part of its head.
func checkFolds(t *testing.T, s Summary) {
	t.Helper()
	if len(s.Folds) == 0 || s.Folds[0].Reason != "first-head" {
		t.Fatalf("folds %+v", s.Folds)
	}
	for i, f := range s.Folds {
		if f.Reason == "" || f.Head.Epoch != i+1 || f.Head.Sections.Compartments == 0 {
			t.Errorf("fold %d: %+v", i+1, f)
		}
		if p := s.Detail[f.Pass-1]; !p.Bust || p.Sources.Head == 0 || p.History == nil || p.History.Weakest == nil {
			t.Errorf("pass %d folds: %+v", f.Pass, p)
		}
	}
}

// The times depend on the machine, so reportOf leaves them out.
func reportOf(t *testing.T, s Summary) string {
	t.Helper()
	s.HostMS = Times{}
	for _, p := range s.Detail {
		p.HostMS, p.CallMS = 0, 0
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSameTraceGivesTheSameReport(t *testing.T) {
	trace := bytes.Join(plain(t, historyTrace), nil)
	unanswered := edited(t, func(isQuestion bool, line []byte) []byte {
		if isQuestion {
			return line
		}
		return nil
	})
	cases := []struct {
		name    string
		trace   []byte
		options Options
	}{
		{"as it is", trace, Options{}},
		{"with questions that the trace does not hold", trace, Options{Window: 30_000}},
		{"with runs that the host withdraws", unanswered, Options{}},
	}
	if isRace {
		cases = cases[1:2] // under the race detector, the other cases take minutes
	}
	for _, c := range cases {
		first := reportOf(t, mustRun(t, c.trace, c.options))
		if second := reportOf(t, mustRun(t, c.trace, c.options)); first != second {
			t.Errorf("%s (-first +second):\n%s", c.name, cmp.Diff(strings.Split(first, ","), strings.Split(second, ",")))
		}
	}
}

// A wrap-up is a command, so its questions to the historian do not come from a pass. The replay must find their
// recorded answers, too, although the prompts contain characters that JSON has to escape.
func TestReplayPlaysAWrapUp(t *testing.T) {
	w := newWorldWith(t, func(p schema.AgentRunParams) schema.AgentRunResult {
		text := historiantest.Output(historiantest.Compartment(historiantest.RangeOf(p.Prompt), "The user wrote <odd> text"))
		return schema.AgentRunResult{Answers: []json.Value{json.Value(fmt.Sprintf(
			`{"info":{"id":"msg_1","sessionID":"ses_child","role":"assistant","providerID":"anthropic","modelID":"claude-sonnet-4","time":{"created":1,"completed":2},"finish":"stop","tokens":{"input":7,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"prt_1","type":"text","text":%s}]}`,
			json.Quote(text)))}}
	})
	traced := w.connect(true)
	c := &conversation{id: "ses_long"}
	for _, prompt := range []string{"quotes \" and \u2028 <b>&", "three", "two", "one"} {
		c.user(prompt)
		c.turn()
		traced.pass(c)
		traced.measure(c)
	}
	var said schema.CommandExecuteResult
	command := schema.CommandExecuteParams{Session: c.id, Directory: "/p", Command: "ctx-wrapup", Arguments: "1"}
	if err := traced.client.Call(t.Context(), schema.MethodCommandExecute, command, &said); err != nil || said.Variant != "info" {
		t.Fatalf("%+v, %v", said, err)
	}
	if notice := <-w.shown; notice.Variant != "success" {
		t.Fatalf("the wrap-up has failed: %+v", notice)
	}
	for range 3 {
		c.turn()
		traced.pass(c)
		traced.measure(c)
	}
	var status schema.SessionStatus
	if err := traced.client.Call(t.Context(), schema.MethodSessionStatus, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: c.id}, &status); err != nil {
		t.Fatal(err)
	}
	trace := traced.stop()
	replayed, report := wires(t, trace)
	if diff := cmp.Diff(gist(traced.answers), gist(replayed)); diff != "" {
		t.Errorf("decisions (-recorded +replayed):\n%s", diff)
	}
	s := report.Summary()
	if saved, ok := s.Saved[c.id]; !ok || status.Saved == nil || saved != *status.Saved || saved.Historian == 0 {
		t.Errorf("the replay says that the session has saved %+v, its status said %+v", saved, status.Saved)
	}
	if s.AskedRuns == 0 || len(s.Missing) > 0 || len(s.Publishes) == 0 || s.Publishes[0].Reason != "wrapup" || s.Publishes[0].Pass != 5 || len(s.Folds) == 0 {
		t.Errorf("%d questions, missing %q, publications %+v, folds %+v", s.AskedRuns, s.Missing, s.Publishes, s.Folds)
	}
}

// The function `edited` returns a trace in which the function `edit` has changed each line with a question or an answer
// of a hidden agent.
func edited(t *testing.T, edit func(isQuestion bool, line []byte) []byte) []byte {
	t.Helper()
	open := make(map[string]bool)
	var all []byte
	for _, line := range plain(t, historyTrace) {
		var frame rpc.TraceFrame
		var m message
		if err := errors.Join(json.Unmarshal(line, &frame), json.Unmarshal(frame.Body, &m)); err != nil {
			t.Fatal(err)
		}
		isQuestion := frame.From == rpc.FromHost && strings.HasPrefix(m.Method, "agent/")
		isAnswer := frame.From == rpc.FromShim && m.Method == "" && open[string(m.ID)]
		if isQuestion {
			open[string(m.ID)] = true
		}
		if isQuestion || isAnswer {
			line = edit(isQuestion, line)
		}
		all = append(all, line...)
	}
	return all
}

// An older trace has no recorded runs. It is replayed without a historian.
func TestWithoutRecordedRunsThereIsNoHistorian(t *testing.T) {
	s := mustRun(t, edited(t, func(bool, []byte) []byte { return nil }), Options{})
	if s.AskedRuns != 0 || len(s.Missing) > 0 || len(s.Publishes) > 0 || len(s.Folds) > 0 {
		t.Errorf("%d questions, missing %q, %d publications, %d folds", s.AskedRuns, s.Missing, len(s.Publishes), len(s.Folds))
	}
}

// A question with a changed prompt is a different question.
func TestQuestionThatTheTraceDoesNotHoldIsNamed(t *testing.T) {
	asked := 0
	s := mustRun(t, edited(t, func(isQuestion bool, line []byte) []byte {
		if asked++; !isQuestion || asked < 3 { // the first question and its answer stay
			return line
		}
		return bytes.Replace(line, []byte("=== BEGIN DATA"), []byte("=== START DATA"), 1)
	}), Options{})
	runs, _ := runsOf(t, bytes.Join(plain(t, historyTrace), nil))
	if s.AskedRuns < 2 || len(s.MissedRuns) != s.AskedRuns-1 {
		t.Fatalf("%d questions, missed %+v", s.AskedRuns, s.MissedRuns)
	}
	missed := s.MissedRuns[0]
	if missed.Pass != runs[1].asked || missed.Agent != "magicctx-historian" || missed.Title != runs[1].title || missed.PromptBytes < 1000 {
		t.Errorf("missed %+v, want %q after pass %d", missed, runs[1].title, runs[1].asked)
	}
	want := fmt.Sprintf("the answers to %d of %d questions to hidden agents. The first is asked after request %d: magicctx-historian, %q of session %s",
		len(s.MissedRuns), s.AskedRuns, missed.Pass, missed.Title, missed.Session)
	if len(s.Missing) != 1 || !strings.HasPrefix(s.Missing[0], want) || !strings.Contains(s.Missing[0], "from them, too, the host learns") {
		t.Errorf("missing %q, want %q", s.Missing, want)
	}
	if all := len(wiresOf(t, readSteps(t, filepath.Join(traces, historyTrace)))); s.Passes != all || s.UnexplainedBusts > 0 || len(s.InvariantViolations) > 0 {
		t.Errorf("the replay does not go on: %d passes, %d unexplained, %v", s.Passes, s.UnexplainedBusts, s.InvariantViolations)
	}
}

// After OpenCode's /compact, a replay cannot read the older messages, so its host starts fewer runs of the historian
// than the recorded host. The bug (L1): a replay showed 2 runs although the session had 9, and did not say that the
// others were missing.
func TestQuestionThatOnlyTheSessionAskedIsNamed(t *testing.T) {
	trace := edited(t, func(isQuestion bool, line []byte) []byte {
		if !isQuestion {
			return line
		}
		other := bytes.Replace(line, []byte("=== BEGIN DATA"), []byte("=== START DATA"), 1)
		return append(other, line...)
	})
	s := mustRun(t, trace, Options{})
	runs, unanswered := runsOf(t, bytes.Join(plain(t, historyTrace), nil))
	all := len(runs) + unanswered
	want := fmt.Sprintf("the cause of %d of %d questions to hidden agents: only the session asked them, so the replay has no answers to them. The first is %q", all, 2*all, runs[0].title)
	if len(s.Missing) != 1 || !strings.HasPrefix(s.Missing[0], want) {
		t.Errorf("missing %q, want %q", s.Missing, want)
	}
	if s := mustRun(t, trace, Options{Mode: "subagent"}); len(s.Missing) != 0 {
		t.Errorf("a subagent has no historian, but its replay lacks %q", s.Missing)
	}
}

// A trace may come from anybody. If a recorded answer is garbage, the run must fail, and the replay must go on.
func TestGarbageOfARecordedAgentIsAFailedRun(t *testing.T) {
	if isRace {
		t.Skip("takes minutes under the race detector")
	}
	long := `{"answers":["` + strings.Repeat("a", maxAnswerBytes) + `"]}`
	for name, body := range map[string]string{
		"no result":          `"result":null`,
		"a text":             `"result":"yes"`,
		"a list":             `"result":[{}]`,
		"an empty object":    `"result":{}`,
		"no answers":         `"result":{"answers":[]}`,
		"answers of null":    `"result":{"answers":[null,7,"x",{}]}`,
		"a failure":          `"result":{"answers":[],"failure":{"reason":"aborted","error":{"data":{"message":"x"}}}}`,
		"an error":           `"error":{"code":-32601,"message":"no such method"}`,
		"an error of a kind": `"error":"7"`,
		"an overloaded one":  `"error":{"code":1,"message":"503 overloaded"}`,
		"a long one":         `"result":` + long,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := bytes.SplitAfter(edited(t, func(isQuestion bool, line []byte) []byte {
				if isQuestion {
					return line
				}
				var frame struct {
					At   int64 `json:"at"`
					Body struct {
						ID json.Value `json:"id"`
					} `json:"body"`
				}
				if err := json.Unmarshal(line, &frame); err != nil {
					t.Error(err)
				}
				return fmt.Appendf(nil, `{"at":%d,"from":"shim","body":{"jsonrpc":"2.0","id":%s,%s}}`+"\n", frame.At, frame.Body.ID, body)
			}), []byte("\n"))
			s := mustRun(t, bytes.Join(lines[:len(lines)/2], nil), Options{}) // the second half has only more runs
			if s.UnexplainedBusts > 0 || len(s.InvariantViolations) > 0 || len(s.ValidatorHits) > 0 {
				t.Errorf("%d unexplained busts, %v, %v", s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits)
			}
			for _, p := range s.Publishes {
				if p.MadeBy != "extractive" {
					t.Errorf("garbage was published: %+v", p)
				}
			}
			if h := s.Detail[len(s.Detail)-1].History; h == nil || h.LastError == "" {
				t.Errorf("no failure is told: %+v", h)
			}
		})
	}
}

// A run that was active when the recording ended has no answer. In a replay, it waits until the trace ends, and does
// not count as missed.
func TestRunWithoutAnAnswerWaitsToTheEnd(t *testing.T) {
	const end = "the recording ends here"
	before, _, _ := bytes.Cut(edited(t, func(isQuestion bool, line []byte) []byte {
		if isQuestion {
			return line
		}
		return []byte(end)
	}), []byte(end))
	s := mustRun(t, before, Options{})
	if s.AskedRuns != 1 || len(s.MissedRuns) > 0 || len(s.Missing) > 0 {
		t.Errorf("%d questions, missed %+v, missing %q", s.AskedRuns, s.MissedRuns, s.Missing)
	}
	if h := s.Detail[len(s.Detail)-1].History; h == nil || h.Running == nil {
		t.Error("the last pass has no run under way")
	}
}

func runOf(prompt string) schema.AgentRunParams {
	return schema.AgentRunParams{Run: "run_7", Title: "any", Agent: "a", Model: "p/m", System: "s", Prompt: prompt, TimeoutMS: 5}
}

func cassetteOf(t *testing.T, prompts ...string) (c *cassette, takes []*take) {
	t.Helper()
	tr := &trace{cassette: newCassette()}
	runs := newRecordedRuns(tr)
	for i, prompt := range prompts {
		p := runOf(prompt)
		p.Run, p.Title, p.TimeoutMS = fmt.Sprintf("run_%d", i), "another", 9
		params, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		id := json.Value(fmt.Sprint(i))
		runs.read(rpc.TraceFrame{From: rpc.FromHost}, &message{ID: id, Method: schema.MethodAgentRun, Params: params})
		runs.read(rpc.TraceFrame{From: rpc.FromShim}, &message{ID: id, Result: json.Value(fmt.Sprintf(`{"answers":[%d]}`, i))})
	}
	for _, s := range tr.steps {
		takes = append(takes, s.take)
	}
	return tr.cassette, takes
}

// Only agent, model and prompts identify a question. Equal questions get their answers in order, and each
// answer is used only once.
func TestCassetteFindsAQuestion(t *testing.T) {
	c, takes := cassetteOf(t, "one", "two", "one")
	for _, take := range takes {
		c.play(take)
	}
	for i, want := range []struct{ prompt, answer string }{{"one", "0"}, {"one", "2"}, {"two", "1"}, {"one", ""}, {"three", ""}} {
		got, err := c.Run(t.Context(), runOf(want.prompt))
		if want.answer == "" {
			if !errors.Is(err, errNotRecorded) {
				t.Errorf("question %d is answered with %v, %v", i, got, err)
			}
			continue
		}
		if err != nil || len(got.Answers) != 1 || string(got.Answers[0]) != want.answer {
			t.Errorf("question %d is answered with %s, %v; want %s", i, got.Answers, err, want.answer)
		}
	}
	other := runOf("two")
	for _, change := range []func(*schema.AgentRunParams){
		func(p *schema.AgentRunParams) { p.Agent = "b" }, func(p *schema.AgentRunParams) { p.Model = "" },
		func(p *schema.AgentRunParams) { p.System, p.Prompt = "st", "wo" },
	} {
		c, takes := cassetteOf(t, "two")
		c.play(takes[0])
		p := other
		change(&p)
		if _, err := c.Run(t.Context(), p); !errors.Is(err, errNotRecorded) {
			t.Errorf("%+v is answered: %v", p, err)
		}
	}
}

// The replay takes the next step of the trace only when the host has no more work. The host must not get a recorded
// answer before the replay has reached the answer's place in the trace.
func TestCassetteWaitsForTheHost(t *testing.T) {
	c, takes := cassetteOf(t, "one", "two")
	ctx, withdraw := context.WithCancelCause(t.Context())
	c.Begin()
	published := make(chan string, 2)
	go func() {
		defer c.End()
		for _, prompt := range []string{"one", "two"} {
			if _, err := c.Run(ctx, runOf(prompt)); err != nil {
				published <- err.Error()
				return
			}
			published <- prompt
		}
	}()
	settle := func() {
		t.Helper()
		if err := c.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	if len(published) > 0 {
		t.Fatalf("%q has its answer before its place", <-published)
	}
	c.play(takes[0])
	settle()
	if len(published) != 1 || <-published != "one" {
		t.Fatal("the replay has not waited for the host")
	}
	withdraw(errors.New("rescued"))
	settle()
	if len(published) != 1 || <-published != "rescued" {
		t.Fatal("the replay has not waited for the end of a withdrawn run")
	}
	c.play(takes[1]) // the question was withdrawn, so no one gets the answer
	settle()
	c.Begin()
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.settle(late); !errors.Is(err, context.Canceled) {
		t.Errorf("settle without an end: %v", err)
	}
}

// The recorded host withdrew a run for one of two reasons: a pass or a command ended the run, or the run took too long.
// In the first case, the replay repeats the pass or the command, so the run ends before the replay reaches its recorded
// answer. So if the replay does reach the recorded answer of a withdrawn run, the run had timed out.
func TestWithdrawnRunHasTimedOut(t *testing.T) {
	for result, want := range map[string]string{`{"answers":[],"failure":{"reason":"aborted"}}`: "timeout", `{"answers":[]}`: ""} {
		tr := &trace{cassette: newCassette()}
		runs := newRecordedRuns(tr)
		params, err := json.Marshal(runOf("one"))
		if err != nil {
			t.Fatal(err)
		}
		runs.read(rpc.TraceFrame{From: rpc.FromHost}, &message{ID: json.Value("1"), Method: schema.MethodAgentRun, Params: params})
		runs.read(rpc.TraceFrame{From: rpc.FromHost}, &message{ID: json.Value("2"), Method: schema.MethodAgentAbort, Params: json.Value(`{"directory":"/p","run":"run_7"}`)})
		runs.read(rpc.TraceFrame{From: rpc.FromShim}, &message{ID: json.Value("1"), Result: json.Value(result)})
		tr.cassette.play(tr.steps[0].take)
		got, err := tr.cassette.Run(t.Context(), runOf("one"))
		if err != nil || got.Failure.Reason != want {
			t.Errorf("%s: the reason is %q, %v; want %q", result, got.Failure.Reason, err, want)
		}
	}
}

// The number of questions in a trace is limited, but high enough for a session of several months.
func TestRecordedRunsAreBounded(t *testing.T) {
	tr := &trace{cassette: newCassette()}
	runs := newRecordedRuns(tr)
	for i := range maxTakes + 10 {
		params := fmt.Sprintf(`{"agent":"a","prompt":"%d"}`, i)
		runs.read(rpc.TraceFrame{From: rpc.FromHost}, &message{ID: json.Value(fmt.Sprint(i)), Method: schema.MethodAgentRun, Params: json.Value(params)})
	}
	if n := len(tr.cassette.takes); n != maxTakes {
		t.Errorf("%d questions are kept, at most %d", n, maxTakes)
	}
}
