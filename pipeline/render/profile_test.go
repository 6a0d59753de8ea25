package render

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestBreakpointFor(t *testing.T) {
	for _, c := range []struct {
		profile, model string
		want           transcript.Breakpoint
	}{
		{"anthropic", "claude-sonnet-4-5", transcript.AnthropicBreakpoint},
		{"anthropic", "kimi-k2", transcript.AnthropicBreakpoint}, // another maker's model at Anthropic's API
		{"vertex", "claude-sonnet-4-5@20250929", transcript.AnthropicBreakpoint},
		{"bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", transcript.BedrockBreakpoint},
		{"bedrock", "meta.llama4-maverick-17b-instruct-v1:0", transcript.NoBreakpoint},
		{"openai", "gpt-5.2", transcript.NoBreakpoint},
		{"unknown", "claude-sonnet-4-5", transcript.NoBreakpoint},
	} {
		if got := ProfileNamed(c.profile).BreakpointFor(c.model); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.profile, c.model, got, c.want)
		}
	}
}
