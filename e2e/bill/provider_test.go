package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
)

func text(s string) json.Value { return json.Value(fmt.Sprintf(`{"type":"text","text":%q}`, s)) }

// request returns a request of the given turn. Its last block is a breakpoint.
func request(turn int, blocks ...json.Value) *mockllm.Request {
	_, model, _ := strings.Cut(opencodetest.ClaudeModel, "/")
	r := &mockllm.Request{Model: model, Tools: []string{"read"}, Messages: user(fmt.Sprintf("Turn %d: go on", turn))}
	for i, b := range blocks {
		r.Blocks = append(r.Blocks, mockllm.PromptBlock{JSON: b, Breakpoint: i == len(blocks)-1})
	}
	return r
}

// The text `long` is longer than the shortest prefix that the provider caches.
var long = strings.Repeat("A ledger of the harbour. ", 300)

func TestUsageIsThatOfThePromptCache(t *testing.T) {
	p := newProvider(byAnthropic, testStory(), scenes[0].limits.Context)
	first, second := tokens.Count(long), tokens.Count("more")
	p.answer(request(1, text(long)))
	got := p.answer(request(2, text(long), text("more"))).Usage
	if want := (promptcache.Tokens{Write: second, Read: first, Output: got.Output}); *got != want {
		t.Errorf("usage is %+v, want %+v", *got, want)
	}
	counted := p.counted()
	if counted.Requests != 2 || counted.Peak != first+second || counted.Tokens.Write != first+second || counted.Tokens.Read != first {
		t.Errorf("counted %+v", counted)
	}
	if got, want := counted.hitRate(), float64(first)/float64(2*first+second); got != want {
		t.Errorf("hit rate is %f, want %f", got, want)
	}
}

// OpenAI caches in steps of 128 tokens, ignores breakpoints, and reports no writes.
func TestUsageByOpenAI(t *testing.T) {
	p := newProvider(byOpenAI, testStory(), scenes[0].limits.Context)
	ask := func(turn int, blocks ...json.Value) promptcache.Tokens {
		r := request(turn, blocks...)
		_, r.Model, _ = strings.Cut(byOpenAI.model, "/")
		return *p.answer(r).Usage
	}
	first, second := tokens.Count(long), tokens.Count("more")
	ask(1, text(long))
	got := ask(2, text(long), text("more"))
	read := first - (first-1024)%128
	if want := (promptcache.Tokens{Fresh: first + second - read, Read: read, Output: got.Output}); got != want {
		t.Errorf("usage is %+v, want %+v", got, want)
	}
	c := p.counted()
	if got, want := c.bill(), (float64(first+first+second-read)*3+float64(read)*0.3)/1e6; got-want > 1e-12 || want-got > 1e-12 {
		t.Errorf("the bill is %v, want %v", got, want)
	}
}

// magicctx derives the route from the model and the npm package of its provider. For each model of the bill, this must
// be the route that the simulated provider uses. Otherwise, the passes would follow the wrong cache rules.
func TestModelsAreOfTheirRoute(t *testing.T) {
	for _, by := range []billed{byAnthropic, byOpenAI} {
		provider, id, _ := strings.Cut(by.model, "/")
		npm := map[bool]string{true: "@ai-sdk/openai-compatible", false: "@ai-sdk/anthropic"}[by.config != nil]
		if got := route.Of(schema.Model{Provider: provider, ID: id}, npm); got != by.route {
			t.Errorf("%s is of route %s, want %s", by.model, got.Name, by.route.Name)
		}
	}
	if _, err := billedBy("mistral", false); err == nil {
		t.Error("an unknown route is taken")
	}
}

func TestBustIsARequestThatDoesNotExtendTheOneBefore(t *testing.T) {
	p := newProvider(byAnthropic, testStory(), scenes[0].limits.Context)
	p.answer(request(1, text(long), text("a")))
	p.answer(request(1, text(long), text("a")))            // the same request again
	p.answer(request(1, text(long), text("a"), text("b"))) // the prompt is extended
	p.answer(request(2, text(long), text("c"), text("b"))) // a block is changed
	p.answer(request(3, text(long), text("c")))            // a block is removed
	p.answer(request(4, text(long), text("c"), text("d"))) // the prompt is extended
	want := []bust{
		{Turn: 2, Kept: tokens.Count(long), Prompt: tokens.Count(long) + 2},
		{Turn: 3, Kept: tokens.Count(long) + 1, Prompt: tokens.Count(long) + 1},
	}
	if diff := cmp.Diff(want, p.counted().Busts); diff != "" {
		t.Errorf("busts (-want +got):\n%s", diff)
	}
}

// The request for a summary is a part of the bill. But it does not count as a bust, although it does not extend the
// main conversation.
func TestSummaryIsNoBust(t *testing.T) {
	p := newProvider(byAnthropic, testStory(), scenes[0].limits.Context)
	p.answer(request(1, text(long)))
	summary := request(1, text("Summarise: "+long))
	summary.Tools = nil
	p.answer(summary)
	p.answer(request(1, text(long), text("a")))
	got := p.counted()
	if len(got.Busts) != 0 || got.Summaries != 1 || got.Requests != 3 {
		t.Errorf("%d busts, %d summaries, %d requests, want 0, 1, 3", len(got.Busts), got.Summaries, got.Requests)
	}
}

func TestPromptLongerThanTheWindowIsRefused(t *testing.T) {
	size := tokens.Count(long)
	p := newProvider(byAnthropic, testStory(), size)
	if s := p.answer(request(1, text(long))); s.Error != nil {
		t.Errorf("a prompt that fills the window is refused: %v", s.Error)
	}
	s := p.answer(request(1, text(long), text("more")))
	want := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size+1, size)
	if s.Error == nil || s.Error.Status != 400 || s.Error.Message != want {
		t.Fatalf("answer is %+v, want 400 %s", s.Error, want)
	}
	got := p.counted()
	if got.Overflows != 1 || got.Requests != 1 || got.Peak != size+1 {
		t.Errorf("%d overflows, %d requests, peak %d, want 1, 1, %d", got.Overflows, got.Requests, got.Peak, size+1)
	}
	// A refused prompt leaves nothing in the cache.
	if u := p.answer(request(1, text(long))).Usage; u.Read != size || len(p.counted().Busts) != 0 {
		t.Errorf("usage after it is %+v, with %d busts", *u, len(p.counted().Busts))
	}
}

func TestTitleIsNotCounted(t *testing.T) {
	p := newProvider(byAnthropic, testStory(), scenes[0].limits.Context)
	r := request(1, text(long))
	_, r.Model, _ = strings.Cut(opencodetest.SmallModel, "/")
	if s := p.answer(r); s.Error != nil || p.counted().Requests != 0 {
		t.Errorf("error %v, %d requests", s.Error, p.counted().Requests)
	}
}

func TestStrangerIsRefused(t *testing.T) {
	p := newProvider(byAnthropic, testStory(), scenes[0].limits.Context)
	r := request(1, text(long))
	r.Messages = user("hello")
	if s := p.answer(r); s.Error == nil || p.counted().Strangers != 1 {
		t.Errorf("error %v, %d strangers", s.Error, p.counted().Strangers)
	}
}

func TestBlockTokensCountTheTextForTheModel(t *testing.T) {
	result := tokens.Count("one\ntwo")
	for raw, want := range map[string]int{
		`{"type":"text","text":"one\ntwo"}`:                                                                                     result,
		`{"type":"tool_result","tool_use_id":"x","content":"one\ntwo"}`:                                                         result,
		`{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"one\ntwo"}]}`:                                result,
		`{"type":"tool_use","id":"x","name":"read","input":{"limit":44}}`:                                                       tokens.Count("read") + tokens.Count(`{"limit":44}`),
		`{"name":"read","description":"Reads.","input_schema":{"type":"object"}}`:                                               tokens.Count(`{"name":"read","description":"Reads.","input_schema":{"type":"object"}}`),
		`{"role":"user","content":"one\ntwo"}`:                                                                                  result,
		`{"role":"user","content":[{"type":"text","text":"one\ntwo"}]}`:                                                         result,
		`{"role":"tool","tool_call_id":"x","content":"one\ntwo"}`:                                                               result,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"x","function":{"name":"read","arguments":"{\"limit\":44}"}}]}`: tokens.Count("read") + tokens.Count(`{"limit":44}`),
		`"a bare text"`: tokens.Count(`"a bare text"`),
	} {
		if got := blockTokens(json.Value(raw)); got != want {
			t.Errorf("%s: %d tokens, want %d", raw, got, want)
		}
	}
}

func TestStoryLeadsToItsEnd(t *testing.T) {
	s := story{project: "/project", turns: 2, tools: script.OpenCode}
	p := newProvider(byAnthropic, s, scenes[0].limits.Context)
	var messages []mockllm.Message
	for turn := 1; turn <= s.turns; turn++ {
		messages = append(messages, user(s.prompt(turn))...)
		for step := 0; ; step++ {
			r := request(turn, text(long))
			r.Messages = slices.Clone(messages)
			at, _ := position(r.Messages)
			if want := (place{turn, step}); at != want {
				t.Fatalf("position is %v, want %v", at, want)
			}
			p.answer(r)
			a := s.after(at)
			messages = append(messages, assistant(a.text, a.id)...)
			if a.tool == "" {
				break
			}
			messages = append(messages, output(a.id, "entry")...)
		}
	}
	if got := p.counted(); got.Turns != 2 || got.Requests != 2*(calls+1) {
		t.Errorf("%d turns, %d requests, want 2 and %d", got.Turns, got.Requests, 2*(calls+1))
	}
}

// In every second turn, a model that has ctx_reduce asks to drop all but the newest tags.
func TestModelAsksForDrops(t *testing.T) {
	s := testStory()
	s.asks = true
	p := newProvider(byAnthropic, s, 1_000_000)
	ask := func(turn, newest int, tools ...string) (drops string) {
		r := request(turn, text(long))
		r.Tools = tools
		r.Messages = user(fmt.Sprintf("§1§ Turn %d, step 1: go on", turn))
		r.Messages[0].Content = append(r.Messages[0].Content, mockllm.Content{Type: "tool_result", Text: fmt.Sprintf("§%d§ a ledger", newest)})
		return p.answer(r).Input("ctx_reduce")
	}
	for _, c := range []struct {
		turn, newest int
		tools        []string
		want         string
	}{
		{2, 60, []string{"read"}, ""},
		{1, 60, []string{"read", "ctx_reduce"}, ""},
		{2, 60, []string{"read", "ctx_reduce"}, `{"drop":"1-35"}`},
		{4, 60, []string{"read", "ctx_reduce"}, ""},
		{4, 72, []string{"read", "ctx_reduce"}, `{"drop":"36-47"}`},
	} {
		if got := ask(c.turn, c.newest, c.tools...); got != c.want {
			t.Errorf("turn %d with %v and tags up to %d: asks for %q, want %q", c.turn, c.tools, c.newest, got, c.want)
		}
	}
}
