package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type runner struct {
	mute
	// `stop` ends when the host aborts the run.
	run     func(stop context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error)
	mu      sync.Mutex // runs and their aborts come from different goroutines
	abort   context.CancelFunc
	asked   []schema.AgentRunParams
	aborted []schema.AgentAbortParams
}

func (r *runner) RunAgent(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
	stop, abort := context.WithCancel(ctx)
	defer abort()
	r.mu.Lock()
	r.asked, r.abort = append(r.asked, p), abort
	r.mu.Unlock()
	return r.run(stop, p)
}

func (r *runner) AbortAgent(_ context.Context, p schema.AgentAbortParams) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = append(r.aborted, p)
	r.abort()
	return nil
}

func says(text string) *runner {
	return &runner{run: func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
		return schema.AgentRunResult{Answers: []json.Value{answered(text, "stop", 7)}}, nil
	}}
}

func hangs() *runner {
	return &runner{run: func(stop context.Context, _ schema.AgentRunParams) (schema.AgentRunResult, error) {
		<-stop.Done()
		return schema.AgentRunResult{
			Answers: []json.Value{answered("half", "", 7)}, Failure: schema.AgentFailure{Reason: "aborted", Error: json.Value(`"aborted"`)},
		}, nil
	}}
}

func answered(text, finish string, input int) json.Value {
	raw, _ := json.Marshal(map[string]any{
		"info": map[string]any{
			"role": "assistant", "providerID": "p", "modelID": "m/1", "finish": finish,
			"tokens": map[string]any{"input": input, "output": 3, "cache": map[string]any{"read": 20, "write": 5}},
		},
		"parts": []any{map[string]any{"type": "text", "text": text}, map[string]any{"type": "text", "text": "end"}},
	})
	return raw
}

type mute struct{ client.Client }

func (*mute) AbortAgent(context.Context, schema.AgentAbortParams) error { return nil }

type noLedger struct{}

func (noLedger) Begin(context.Context, Asker, ask.Request, int) (func(End), error) {
	return func(End) {}, nil
}

type noting struct{ ends []End }

func (n *noting) Begin(context.Context, Asker, ask.Request, int) (func(End), error) {
	return func(e End) { n.ends = append(n.ends, e) }, nil
}

func TestLedgerLearnsHowAQuestionEnded(t *testing.T) {
	twoSteps := func(second json.Value, reason string) *runner {
		return &runner{run: func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
			return schema.AgentRunResult{Answers: []json.Value{answered("I look.", "tool-calls", 10), second}, Failure: schema.AgentFailure{Reason: reason}}, nil
		}}
	}
	fails := func(err error) *runner {
		return &runner{run: func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
			return schema.AgentRunResult{}, err
		}}
	}
	for name, test := range map[string]struct {
		client client.Client
		want   End // without answer and error
	}{
		"it answers":               {says("x"), End{Steps: 1}},
		"two steps":                {twoSteps(answered("end", "length", 7), ""), End{Steps: 2}},
		"cut off in the second":    {twoSteps(answered("half", "", 7), "aborted"), End{Steps: 1}},
		"cut off in the first":     {hangs(), End{}},
		"the shim does not answer": {&deaf{}, End{IsUnknown: true}},
		"the shim is gone":         {fails(client.ErrClientLeft), End{IsUnknown: true}},
		"another failure":          {fails(errors.New("connection closed")), End{IsUnknown: true}},
		"the shim is too old":      {fails(unknownMethod{}), End{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := aRun(t, test.client)
				var ledger noting
				r.Ledger = &ledger
				_, _ = r.ask(t.Context())
				if len(ledger.ends) != 1 || ledger.ends[0].Steps != test.want.Steps || ledger.ends[0].IsUnknown != test.want.IsUnknown {
					t.Errorf("%+v, want %+v", ledger.ends, test.want)
				}
			})
		})
	}
}

func connected(t *testing.T, cfg schema.Config, clients ...client.Client) (*Runner, *client.Registry) {
	t.Helper()
	known := client.NewRegistry(func(schema.Harness, string) (schema.Config, []config.Warning) { return cfg, nil })
	for _, c := range clients {
		known.Open(c, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}, cfg, nil)
	}
	return NewRunner(Options{
		Clients: known, Background: background.New(), Serial: clock.NewSerial(clock.NewManual(1)), Log: slog.New(slog.DiscardHandler), Ledger: noLedger{},
	}), known
}

type run struct {
	Asker
	ask.Request
}

func aRun(t *testing.T, c client.Client, others ...client.Client) run {
	t.Helper()
	r, _ := connected(t, config.Default(), append(others, c)...)
	return runOn(r, c)
}

func runOn(r *Runner, c client.Client) run {
	return run{
		Asker{Runner: r, Harness: schema.HarnessOpenCode, Client: c, Directory: "/p", Session: "ses_1", Title: "history 1-9"},
		ask.Request{Agent: historian.Agent, Model: "p/m/1", System: "You summarise.", Prompt: "Summarise.", MaxOutput: 900, Timeout: time.Minute},
	}
}

func (r run) ask(ctx context.Context) (ask.Answer, error) { return r.Asker.Ask(ctx, r.Request) }

func TestAgentAnswers(t *testing.T) {
	c := says("A summary.")
	got, err := aRun(t, c).ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := ask.Answer{
		Text: "A summary.\nend", Model: "p/m/1",
		Usage: ask.Usage{Input: 7, Output: 3, CacheRead: 20, CacheWrite: 5},
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p := c.asked[0]
	if p.Steps != 2 || p.MaxOutput != 900 || p.TimeoutMS != 60_000 || p.Session != "ses_1" || p.Model != "p/m/1" {
		t.Errorf("asked for %+v", p)
	}
}

// A hidden agent must have no tools. Otherwise a text in the history could make it read ".env". The summary would then
// contain that file, and the user would never see the call.
func TestHostileCloneHiddenAgentReadsNoFile(t *testing.T) {
	for _, harness := range schema.Harnesses {
		c := &runner{run: func(context.Context, schema.AgentRunParams) (r schema.AgentRunResult, err error) { return r, nil }}
		r, known := connected(t, config.Default())
		known.Open(c, schema.InitializeParams{Harness: harness, Directory: "/p"}, config.Default(), nil)
		for _, d := range Definitions(config.Default()) {
			q := runOn(r, c)
			q.Harness, q.Agent = harness, d.Name
			if _, err := q.ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			if asked := c.asked[len(c.asked)-1].Tools; len(d.Tools) > 0 || asked == nil || len(asked) > 0 {
				t.Errorf("%s of %s: defined with the tools %q, asked with %q", d.Name, harness, d.Tools, asked)
			}
			if d.Prompt == "" { // without a prompt, OpenCode would use its own long one
				t.Errorf("%s has no prompt", d.Name)
			}
		}
		if len(c.asked) == 0 {
			t.Errorf("%s has no hidden agents", harness)
		}
	}
}

// A harness shows each registered agent to its user. So an agent that is switched off must not be registered.
func TestHistorianThatIsSwitchedOffIsNotOffered(t *testing.T) {
	cfg := config.Default()
	cfg.Historian.Disable = true
	for _, d := range Definitions(cfg) {
		if d.Name == historian.Agent || d.Name == historian.EditorAgent {
			t.Errorf("%s is offered", d.Name)
		}
	}
}

func TestKeepSubagentsKeepsChildSessions(t *testing.T) {
	for _, keep := range []bool{false, true} {
		c := says("x")
		cfg := config.Default()
		cfg.KeepSubagents = keep
		r, _ := connected(t, cfg, c)
		if _, err := runOn(r, c).ask(t.Context()); err != nil || c.asked[0].Keep != keep {
			t.Errorf("keep %v, want %v: %v", c.asked[0].Keep, keep, err)
		}
	}
}

func TestAgentRunsOnTheConnectionOfItsSession(t *testing.T) {
	own, other := says("own"), says("other")
	r, known := connected(t, config.Default(), other, own)
	for range 10 { // the order of a map is random
		if got, err := runOn(r, own).ask(t.Context()); err != nil || !strings.HasPrefix(got.Text, "own") {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	known.Forget(own)
	if got, err := runOn(r, own).ask(t.Context()); err != nil || !strings.HasPrefix(got.Text, "other") {
		t.Errorf("after the connection is gone: %+v, %v", got, err)
	}
	elsewhere := runOn(r, own)
	elsewhere.Directory = "/q"
	wantUnavailable(t, elsewhere)
	inPi := runOn(r, own)
	inPi.Harness = schema.HarnessPi
	wantUnavailable(t, inPi)
}

// If an old shim does not know agent/run, the host asks another shim. After any other failure, it must not ask another
// shim, because the run may already have begun.
func TestAgentIsNotRunTwice(t *testing.T) {
	old := &runner{run: func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
		return schema.AgentRunResult{}, unknownMethod{}
	}}
	other := says("other")
	r := aRun(t, old, other)
	if got, err := r.ask(t.Context()); err != nil || !strings.HasPrefix(got.Text, "other") {
		t.Errorf("with an older shim: %+v, %v", got, err)
	}
	asked := len(other.asked)
	old.run = func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
		return schema.AgentRunResult{}, errors.New("connection closed")
	}
	wantUnavailable(t, r)
	if len(other.asked) != asked {
		t.Error("the run was begun twice")
	}
}

type unknownMethod struct{}

func (unknownMethod) Error() string         { return "agent/run: no such method" }
func (unknownMethod) IsUnknownMethod() bool { return true }

func TestAgentIsAbortedWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hangs()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		got, err := aRun(t, c).ask(ctx)
		wantKind(t, ask.Aborted, err)
		if got.Usage.Input != 7 {
			t.Errorf("usage %+v: the tokens of an aborted run are spent, too", got.Usage)
		}
		if len(c.aborted) != 1 || c.aborted[0].Run != c.asked[0].Run || c.aborted[0].Directory != "/p" {
			t.Errorf("aborted %+v, asked %+v", c.aborted, c.asked)
		}
	})
}

func TestAgentHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hangs()
		r := aRun(t, c)
		began := time.Now()
		got, err := r.ask(t.Context())
		wantKind(t, ask.TimedOut, err)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		if got.Usage.Input != 7 {
			t.Errorf("usage %+v", got.Usage)
		}
	})
}

func TestAgentThatIgnoresItsAbortDoesNotBlockTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &deaf{}
		r := aRun(t, c)
		began := time.Now()
		_, err := r.ask(t.Context())
		wantKind(t, ask.TimedOut, err)
		if took := time.Since(began); took != time.Minute+abortGrace {
			t.Errorf("it took %v", took)
		}
	})
}

type deaf struct{ mute }

func (*deaf) RunAgent(ctx context.Context, _ schema.AgentRunParams) (schema.AgentRunResult, error) {
	<-ctx.Done()
	return schema.AgentRunResult{}, ctx.Err()
}

func TestAgentsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		change := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			running += by
			most = max(most, running)
		}
		c := &counting{run: func() {
			change(1)
			time.Sleep(time.Second)
			change(-1)
		}}
		r := aRun(t, c)
		done := make(chan error)
		for range 3 * maxRuns {
			go func() {
				_, err := r.ask(t.Context())
				done <- err
			}()
		}
		for range 3 * maxRuns {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most != maxRuns {
			t.Errorf("%d ran at once, want %d", most, maxRuns)
		}
	})
}

type counting struct {
	mute
	run func()
}

func (c *counting) RunAgent(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
	c.run()
	return schema.AgentRunResult{Answers: []json.Value{answered("x", "stop", 1)}}, nil
}

func TestAgentRunThatCannotBeSent(t *testing.T) {
	c := says("x")
	for want, change := range map[string]func(*run){
		"at most 1048576 fit":     func(r *run) { r.Prompt = strings.Repeat("x", schema.MaxAgentPromptBytes) },
		`no hidden agent "build"`: func(r *run) { r.Agent = "build" },
		"has no time":             func(r *run) { r.Timeout = 0 },
	} {
		r := aRun(t, c)
		change(&r)
		if _, err := r.ask(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(c.asked) != 0 {
		t.Errorf("the shim was asked for %+v", c.asked)
	}
}

func TestAgentErrors(t *testing.T) {
	for _, c := range []struct {
		name, reason, raw string
		kind              ask.Kind
		message, suggests string
	}{
		{
			"unknown model", "error", `{"name":"ProviderModelNotFoundError","data":{"providerID":"p","modelID":"opsu","suggestions":["opus","opus-4"]}}`,
			ask.UnknownModel, "agent unknown-model: there is no model p/opsu", "p/opus",
		},
		{
			"unknown model without a suggestion", "error", `{"name":"ProviderModelNotFoundError","data":{"providerID":"p","modelID":"x"}}`,
			ask.UnknownModel, "agent unknown-model: there is no model p/x", "",
		},
		{
			"unknown model, as OpenCode tells a plugin", "error", `{"name":"UnknownError","data":{"message":"Model not found: mock/claude-5.1/x. Did you mean: claude-5.0, claude-4?"}}`,
			ask.UnknownModel, "agent unknown-model: there is no model mock/claude-5.1/x", "mock/claude-5.0",
		},
		{
			"unknown model of an unknown provider", "error", `{"name":"UnknownError","data":{"message":"Model not found: mock/claude-5.1."}}`,
			ask.UnknownModel, "agent unknown-model: there is no model mock/claude-5.1", "",
		},
		{
			"overflow", "error", `{"name":"ContextOverflowError","data":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			ask.Overflow, "agent overflow: prompt is too long: 210000 tokens > 200000 maximum", "",
		},
		{
			"overflow in Pi", "error", `"400 {\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}"`,
			ask.Overflow, `agent overflow: 400 {"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "",
		},
		{
			"the status belongs to the message", "error", `{"name":"APIError","data":{"message":"Overloaded","statusCode":529}}`,
			ask.Transient, "agent failed: 529: Overloaded", "",
		},
		{"the user has aborted it", "error", `{"name":"MessageAbortedError","data":{}}`, ask.Aborted, "agent aborted: MessageAbortedError", ""},
		{"aborted", "aborted", `"aborted"`, ask.Aborted, "agent aborted: aborted", ""},
		{"timeout", "timeout", `{"name":"MessageAbortedError","data":{}}`, ask.TimedOut, "agent timeout: MessageAbortedError", ""},
		{"another form", "error", `[1]`, ask.Other, "agent failed: [1]", ""},
		{"nothing", "error", ``, ask.Other, "agent failed: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failureOf(schema.AgentFailure{Reason: c.reason, Error: json.Value(c.raw)}); got.Kind != c.kind || got.Error() != c.message || got.Suggestion != c.suggests {
				t.Errorf("got %s %q, suggestion %q", got.Kind, got, got.Suggestion)
			}
		})
	}
}

func TestAgentErrorIsShort(t *testing.T) {
	page, _ := json.Marshal(strings.Repeat("ü", maxMessage))
	got := strings.TrimPrefix(failureOf(schema.AgentFailure{Reason: "error", Error: page}).Error(), "agent failed: ")
	if len(got) != maxMessage || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}

func TestAgentAnswerOfSeveralSteps(t *testing.T) {
	for h, answers := range map[schema.Harness][]json.Value{
		schema.HarnessOpenCode: {answered("I look.", "tool-calls", 10), answered("half", "length", 7)},
		schema.HarnessOpenCode2: {
			json.Value(`{"id":"a","info":{"type":"assistant","providerID":"p","modelID":"m/1","finish":"tool-calls","tokens":{"input":10,"output":3,"cache":{"read":20,"write":5}}},"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"I look."}]}}`),
			json.Value(`{"id":"b","info":{"type":"assistant","providerID":"p","modelID":"m/1","finish":"length","tokens":{"input":7,"output":3,"cache":{"read":20,"write":5}}},"message":{"id":"b","role":"assistant","content":[{"type":"text","text":"half\nend"}]}}`),
		},
		schema.HarnessPi: {
			json.Value(`{"message":{"role":"assistant","provider":"p","model":"m/1","stopReason":"toolUse","content":[{"type":"text","text":"I look."}],"usage":{"input":10,"output":3,"cacheRead":20,"cacheWrite":5}}}`),
			json.Value(`{"message":{"role":"assistant","provider":"p","model":"m/1","stopReason":"length","content":[{"type":"text","text":"half"},{"type":"text","text":"end"}],"usage":{"input":7,"output":3,"cacheRead":20,"cacheWrite":5}}}`),
		},
	} {
		got := endOf(h, schema.AgentRunResult{Answers: answers})
		want := End{Answer: ask.Answer{Text: "half\nend", Model: "p/m/1", Usage: ask.Usage{Input: 17, Output: 6, CacheRead: 40, CacheWrite: 10}}, Steps: 2}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", h, got, want)
		}
	}
}

func FuzzAgentResult(f *testing.F) {
	f.Add([]byte(`{"info":{"role":"assistant","tokens":{"input":1}},"parts":[{"type":"text","text":"x"}]}`), []byte(`{"name":"APIError","data":{"message":"x"}}`))
	f.Add([]byte(`{"message":{"role":"assistant","content":"x"}}`), []byte(`"text"`))
	f.Add([]byte(`null`), []byte(`{"name":1}`))
	f.Fuzz(func(t *testing.T, answer, failure []byte) {
		if !isJSON(answer) || !isJSON(failure) {
			t.Skip() // the protocol allows only JSON
		}
		for _, h := range schema.Harnesses {
			r := schema.AgentRunResult{Answers: []json.Value{answer}, Failure: schema.AgentFailure{Reason: "error", Error: failure}}
			end := endOf(h, r)
			if e := kindOf(end.Err); e == "" || end.Steps > 1 {
				t.Errorf("the failure has no kind, or too many steps: %+v", end)
			}
		}
	})
}

func wantUnavailable(t *testing.T, r run) {
	t.Helper()
	if _, err := r.ask(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "agent unavailable: ") {
		t.Errorf("got %v", err)
	}
}

func wantKind(t *testing.T, want ask.Kind, err error) {
	t.Helper()
	if got := kindOf(err); got != want {
		t.Errorf("got %v, want kind %s", err, want)
	}
}

func kindOf(err error) ask.Kind {
	var failed *ask.Error
	if errors.As(err, &failed) {
		return failed.Kind
	}
	return ""
}

func isJSON(raw []byte) bool {
	var v json.Value
	return json.Unmarshal(raw, &v) == nil
}
