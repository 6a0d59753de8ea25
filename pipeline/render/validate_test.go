package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func user(key string, blocks ...Block) WireMessage {
	return WireMessage{Key: key, Role: transcript.User, Blocks: blocks}
}

func assistant(key string, blocks ...Block) WireMessage {
	return WireMessage{Key: key, Role: transcript.Assistant, Blocks: blocks}
}
func textOf(s string) Block    { return Block{Kind: TextBlock, Text: s} }
func callOf(id string) Block   { return Block{Kind: CallBlock, ID: id, Name: "read"} }
func resultOf(id string) Block { return Block{Kind: ResultBlock, ID: id, Text: "out"} }
func thought(s, signature string) Block {
	return Block{Kind: ReasoningBlock, Text: s, Signature: json.Value(signature)}
}

var whole = Position{First: true, Last: true}

// Each case has a wire that breaks a rule, and a similar valid wire.
var ruleCases = []struct {
	name  string
	rule  string
	bad   []WireMessage
	clean []WireMessage
}{
	{
		"a call without result", RulePair,
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"))},
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), resultOf("1"))},
	},
	{
		"a result without call", RulePair,
		[]WireMessage{user("u", textOf("q")), assistant("a", resultOf("1"))},
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), resultOf("1"))},
	},
	{
		"a result twice", RulePair,
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), resultOf("1"), resultOf("1"))},
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), callOf("2"), resultOf("2"), resultOf("1"))},
	},
	{
		"text between call and result", RuleAdjacent,
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), textOf("so"), resultOf("1"))},
		[]WireMessage{user("u", textOf("q")), assistant("a", textOf("so"), callOf("1"), resultOf("1"), textOf("so")), user("u2", textOf("q"))},
	},
	{
		"a call id twice", RuleUnique,
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), resultOf("1")), assistant("b", callOf("1"), resultOf("1"))},
		[]WireMessage{user("u", textOf("q")), assistant("a", callOf("1"), resultOf("1")), assistant("b", callOf("2"), resultOf("2"))},
	},
	{
		"blank text", RuleEmpty,
		[]WireMessage{user("u", textOf(" \n"))},
		[]WireMessage{user("u", textOf("."))},
	},
	{
		"the assistant speaks first", RuleFirst,
		[]WireMessage{user("hidden"), assistant("a", textOf("hi")), user("u", textOf("q"))},
		[]WireMessage{assistant("hidden"), user("u", textOf("q"))},
	},
	{
		"the assistant speaks last", RuleLast,
		[]WireMessage{user("u", textOf("q")), assistant("a", textOf("hi")), user("hidden")},
		[]WireMessage{user("u", textOf("q")), assistant("a", textOf("hi"), callOf("1"), resultOf("1")), assistant("hidden")},
	},
}

func raised(p Profile, wire []WireMessage, at Position) []string {
	var rules []string
	var rendered []Rendered
	for _, w := range wire {
		rendered = append(rendered, Rendered{Raw: WireMessage{Key: w.Key, Role: w.Role}, Wire: w})
	}
	for _, v := range Validate(p, rendered, at) {
		rules = append(rules, v.Rule)
	}
	return rules
}

func TestEachRuleHits(t *testing.T) {
	unknown := ProfileOf("somebody", "")
	for _, c := range ruleCases {
		if got := raised(unknown, c.bad, whole); !slices.Contains(got, c.rule) {
			t.Errorf("%s: got %v, want %s", c.name, got, c.rule)
		}
		if got := raised(unknown, c.clean, whole); len(got) > 0 {
			t.Errorf("the clean neighbour of %s: got %v", c.name, got)
		}
	}
}

func TestUserMessagesStay(t *testing.T) {
	raw := user("u", textOf("q"))
	gone := []Rendered{{Raw: raw, Wire: user("u")}}
	if got := Validate(ProfileOf("anthropic", ""), gone, Position{}); !slices.Contains(got, Violation{RuleUserStays, "u"}) {
		t.Errorf("a user message is gone: got %v", got)
	}
	for name, r := range map[string]Rendered{
		"shortened":                 {Raw: raw, Wire: user("u", textOf("[dropped §1§]"))},
		"kept away by the harness":  {Raw: user("u"), Wire: user("u")},
		"an assistant may be taken": {Raw: assistant("a", textOf("x")), Wire: assistant("a")},
	} {
		if got := Validate(ProfileOf("anthropic", ""), []Rendered{r}, Position{}); len(got) > 0 {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestSignedReasoningIsWholeOrGone(t *testing.T) {
	one, two := thought("one", `{"a":{"signature":"1"}}`), thought("two", `{"a":{"signature":"2"}}`)
	raw := assistant("a", one, textOf("x"), two)
	for _, c := range []struct {
		name  string
		wire  WireMessage
		fails bool
	}{
		{"both", assistant("a", one, textOf("§1§ x"), two), false},
		{"the first is gone", assistant("a", textOf("x"), two), false},
		{"none", assistant("a", textOf("x")), false},
		{"another text", assistant("a", thought("One", `{"a":{"signature":"1"}}`), two), true},
		{"another signature", assistant("a", thought("one", `{"a":{"signature":"2"}}`)), true},
		{"another order", assistant("a", two, one), true},
		{"twice", assistant("a", one, one), true},
		{"unsigned reasoning may change", assistant("a", Block{Kind: ReasoningBlock, Text: "[cleared]"}, two), false},
	} {
		for _, p := range Profiles {
			got := Validate(p, []Rendered{{Raw: raw, Wire: c.wire}}, Position{})
			if hit := slices.Contains(got, Violation{RuleSignature, "a"}); hit != (c.fails && p.ChecksSignatures) {
				t.Errorf("%s, %s: got %v", p.Name, c.name, got)
			}
		}
	}
}

func TestHarnessMistakesAreNotReported(t *testing.T) {
	for _, c := range ruleCases {
		var rendered []Rendered
		for _, m := range c.bad {
			rendered = append(rendered, Rendered{Raw: m, Wire: m})
		}
		if got := Validate(ProfileOf("somebody", ""), rendered, whole); len(got) > 0 {
			t.Errorf("%s in both: got %v", c.name, got)
		}
	}
	raw := []WireMessage{user("u", textOf(" ")), assistant("a", textOf("x")), user("v", textOf("q"))}
	wire := []WireMessage{user("u", textOf(" ")), assistant("a", textOf("")), user("v", textOf("q"))}
	var rendered []Rendered
	for i := range raw {
		rendered = append(rendered, Rendered{Raw: raw[i], Wire: wire[i]})
	}
	if diff := cmp.Diff([]Violation{{RuleEmpty, "a"}}, Validate(ProfileOf("somebody", ""), rendered, whole)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPositionSaysWhichEndsAreChecked(t *testing.T) {
	wire := []WireMessage{assistant("a", textOf("x")), user("u", textOf("q")), assistant("b", textOf("y"))}
	for _, c := range []struct {
		at   Position
		want []string
	}{
		{Position{}, nil},
		{Position{First: true}, []string{RuleFirst}},
		{Position{Last: true}, []string{RuleLast}},
		{whole, []string{RuleFirst, RuleLast}},
	} {
		if diff := cmp.Diff(c.want, raised(ProfileOf("anthropic", ""), wire, c.at)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.at, diff)
		}
	}
}

func TestProfiles(t *testing.T) {
	blank := []WireMessage{user("u", textOf("q"), textOf(" "))}
	last := []WireMessage{user("u", textOf("q")), assistant("a", textOf("hi"))}
	for _, c := range []struct {
		provider, npm           string
		name                    string
		refusesBlank, needsUser bool
		breakpoints             int
	}{
		{"anthropic", "@ai-sdk/anthropic", "anthropic", false, true, 4},
		{"Anthropic", "", "anthropic", false, true, 4},
		{"my-gateway", "@ai-sdk/anthropic", "anthropic", false, true, 4},
		{"amazon-bedrock", "", "bedrock", false, true, 4},
		{"x", "@ai-sdk/amazon-bedrock", "bedrock", false, true, 4},
		{"google-vertex-anthropic", "@ai-sdk/google-vertex/anthropic", "vertex", true, true, 4},
		{"google-vertex", "@ai-sdk/google-vertex", "google", true, true, 0},
		{"google", "@ai-sdk/google", "google", true, true, 0},
		{"openai", "@ai-sdk/openai", "openai", true, false, 0},
		{"azure", "@ai-sdk/azure", "openai", true, false, 0},
		{"github-copilot", "@ai-sdk/openai-compatible", "copilot", true, true, 0},
		{"x", "@ai-sdk/github-copilot", "copilot", true, true, 0},
		{"ollama", "@ai-sdk/openai-compatible", "openai-compatible", true, true, 0},
		{"anthropic", "anthropic-messages", "anthropic", false, true, 4},
		{"my-gateway", "anthropic-messages", "anthropic", false, true, 4},
		{"x", "bedrock-converse-stream", "bedrock", false, true, 4},
		{"openai-codex", "openai-codex-responses", "openai", true, false, 0},
		{"openai", "openai-responses", "openai", true, false, 0},
		{"azure-openai-responses", "azure-openai-responses", "openai", true, false, 0},
		{"openrouter", "openai-completions", "openai-compatible", true, true, 0},
		{"github-copilot", "openai-responses", "copilot", true, true, 0},
		{"google", "google-generative-ai", "google", true, true, 0},
		{"google-vertex", "google-vertex", "google", true, true, 0},
		{"mistral", "mistral-conversations", "unknown", true, true, 0},
		{"somebody", "somebody-sdk", "unknown", true, true, 0},
		{"", "", "unknown", true, true, 0},
	} {
		p := ProfileOf(c.provider, c.npm)
		if p.Name != c.name {
			t.Errorf("ProfileOf(%q, %q) = %s, want %s", c.provider, c.npm, p.Name, c.name)
			continue
		}
		if got := slices.Contains(raised(p, blank, Position{}), RuleEmpty); got != c.refusesBlank {
			t.Errorf("%s: blank text refused %v, want %v", p.Name, got, c.refusesBlank)
		}
		if got := slices.Contains(raised(p, last, whole), RuleLast); got != c.needsUser {
			t.Errorf("%s: assistant at the end refused %v, want %v", p.Name, got, c.needsUser)
		}
		if p.Breakpoints != c.breakpoints {
			t.Errorf("%s: %d breakpoints, want %d", p.Name, p.Breakpoints, c.breakpoints)
		}
	}
	if last := Profiles[len(Profiles)-1]; last.Name != "unknown" {
		t.Errorf("the fallback is %s", last.Name)
	}
}
