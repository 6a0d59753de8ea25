package replay

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func TestUnknownModesAndProfilesAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Mode: "secondary"}, `unknown mode "secondary"`},
		{Options{Profile: "Anthropic"}, `unknown provider profile "Anthropic"`},
		{Options{Window: 100}, "a window of 100 tokens"},
	} {
		if _, err := Run(t.Context(), strings.NewReader(hello+first), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
}

// A replay may override the mode in which the trace was recorded. Whatever the recorded mode, the model sees tags only
// if the new mode allows ctx_reduce.
func TestModeOfATraceIsOverridden(t *testing.T) {
	forbidden := strings.Replace(first, `"role":"user"`, `"role":"user","tools":{"ctx_reduce":false}`, 1)
	child := strings.Replace(first, `"base":0`, `"parent":"p","base":0`, 1)
	wire := func(trace, name string) int {
		report, err := Run(t.Context(), strings.NewReader(hello+trace), Options{Mode: name})
		if err != nil {
			t.Fatal(err)
		}
		return report.Summary().Detail[0].WireTokens
	}
	for _, trace := range []string{first, forbidden, child} {
		for _, name := range mode.Names() {
			tagged := !strings.HasSuffix(name, "-no-reduce")
			if got := wire(trace, name) > wire(first, "primary-no-reduce"); got != tagged {
				t.Errorf("%s shows tags: %v, in %s", name, got, trace)
			}
		}
	}
}

// The profile of some providers follows from the provider's name, so a replay with another profile renames
// these providers. It must still find the limits of their models.
func TestProviderIsRenamedForAnotherProfile(t *testing.T) {
	const limits = `{"at":1500,"from":"host","body":{"jsonrpc":"2.0","id":9,"method":"models/limits","params":{"directory":"/p","model":{"provider":"github-copilot","id":"m"}}}}` + "\n" +
		`{"at":1500,"from":"shim","body":{"jsonrpc":"2.0","id":9,"result":{"contextTokens":77000,"npm":"@ai-sdk/github-copilot"}}}` + "\n"
	trace := hello + limits + strings.Replace(first, `"providerID":"anthropic"`, `"providerID":"github-copilot"`, 1)
	for _, p := range render.Profiles {
		report, err := Run(t.Context(), strings.NewReader(trace), Options{Profile: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		want := "replayed-1/m"
		if p.Name == "copilot" {
			want = "github-copilot/m"
		}
		if got := report.Summary().Detail[0]; got.Model != want || got.WindowTokens != 77_000 {
			t.Errorf("%s: %s with a window of %d tokens, want %s with that of the trace", p.Name, got.Model, got.WindowTokens, want)
		}
	}
}

func usageOf(t *testing.T, r *recount, raw string, last *promptcache.Tokens) transcript.Usage {
	t.Helper()
	m := transcript.OpenCode{}.Decode(json.Value(raw))
	patched, err := render.Apply(json.Value(raw), r.patch(transcript.OpenCode{}, &m, &session{counted: last}))
	if err != nil {
		t.Fatal(err)
	}
	return transcript.OpenCode{}.Decode(patched).Usage
}

func TestUsageIsCountedAnew(t *testing.T) {
	answer := func(id, created, prompt string) string {
		return `{"info":{"id":"` + id + `","role":"assistant","time":{"created":` + created + `},"tokens":{"total":1,"input":` + prompt + `,"output":7,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[]}`
	}
	r := newRecount(true)
	if got := usageOf(t, r, answer("a0", "1", "500"), nil); got.Input != 500 {
		t.Errorf("an answer from before the trace has %+v", got)
	}
	// The recorded usage of the first prompt is 900 tokens larger than the trace shows. So the recount adds 900 tokens
	// to every prompt.
	if got, want := usageOf(t, r, answer("a1", "2", "3000"), &promptcache.Tokens{Write: 2100}), (transcript.Usage{Output: 7, CacheWrite: 3000}); got != want {
		t.Errorf("first: %+v, want %+v", got, want)
	}
	second := &promptcache.Tokens{Fresh: 5, Write: 100, Read: 2100}
	for _, id := range []string{"a2", "a2 once more, in a fork"} {
		if got, want := usageOf(t, r, answer(id, "3", "9999"), second), (transcript.Usage{Input: 5, Output: 7, CacheWrite: 100, CacheRead: 3000}); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
		second = &promptcache.Tokens{Write: 1}
	}
	if got := usageOf(t, r, answer("a3", "4", "0"), second); got != (transcript.Usage{Output: 7}) {
		t.Errorf("an answer that is not there yet has %+v", got)
	}
	// The usage of a recorded prompt stays as it was recorded, even in a copy of its answer in a fork.
	m := transcript.OpenCode{}.Decode(json.Value(answer("a4", "5", "4321")))
	if p := r.patch(transcript.OpenCode{}, &m, &session{counted: second, isRecorded: true}); len(p) != 1 {
		t.Errorf("a recorded prompt: %v", p)
	}
	if got := usageOf(t, r, answer("a4 in a fork", "5", "4321"), second); got != (transcript.Usage{Input: 4321, Output: 7}) {
		t.Errorf("a recorded prompt has %+v", got)
	}
	if got := usageOf(t, newRecount(false), answer("a1", "2", "3000"), second); got.Input != 3000 {
		t.Errorf("switched off: %+v", got)
	}
}

// With other settings, the host asks other questions, and the trace has no answers to them. So the caller may
// pass a function that answers.
func TestReplayTakesAnswersFromAnotherHistorian(t *testing.T) {
	play := func(p schema.Price) (Summary, int) {
		t.Helper()
		var asked atomic.Int32
		s, err := runOnce(t.Context(), openTrace(historyTrace), Options{Prices: Prices{EveryModel: p}, Ask: func(p schema.AgentRunParams) schema.AgentRunResult {
			asked.Add(1)
			return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: json.Quote("no answer")}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s, int(asked.Load())
	}
	price := schema.Price{Fresh: 3, Write: 3, Read: 1, Output: 9}
	cheap, asked := play(price)
	if asked == 0 || asked != cheap.AskedRuns || len(cheap.MissedRuns) > 0 {
		t.Errorf("asked %d times, the report says %d with %d missing", asked, cheap.AskedRuns, len(cheap.MissedRuns))
	}
	dear, _ := play(schema.Price{Fresh: 6, Write: 6, Read: 2, Output: 18})
	if want := 2 * cheap.RawBill; math.Abs(dear.RawBill-want) > 1e-9 || want == 0 {
		t.Errorf("at twice the prices, the unmodified session costs $%f, want $%f", dear.RawBill, want)
	}
}
