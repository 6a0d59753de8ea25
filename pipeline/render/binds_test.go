package render_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestBindsThinking(t *testing.T) {
	for _, c := range []struct {
		profile, model string
		want           bool
	}{
		{"anthropic", "claude-fable-5-1", true},
		{"anthropic", "claude-fable-5-2-20261001", true},
		{"anthropic", "claude-opus-5-5", true},
		{"anthropic", "claude-opus-6", true},
		{"anthropic", "claude-opus-6-0", true},
		{"anthropic", "claude-sonnet-5", false},
		{"anthropic", "claude-sonnet-5-20260601", false}, // a date is not a minor version
		{"anthropic", "claude-sonnet-4-6", false},
		{"anthropic", "claude-opus-4-8@20260301", false},
		{"anthropic", "claude-3-5-sonnet-20241022", false},
		{"anthropic", "claude-3-7-sonnet", false},
		{"anthropic", "claude-mythos-5-1", false}, // it signs its thinking, but does not check it
		{"anthropic", "claude-5-1-mythos", false},
		{"anthropic", "claude-mythos-5-5", true},
		{"bedrock", "eu.anthropic.claude-sonnet-5-5-v1:0", true},
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", false},
		{"vertex", "claude-haiku-5-5@20261001", true},
		{"openai-compatible", "anthropic/claude-fable-5.1", true},
		{"openai-compatible", "anthropic/claude-opus-4.5", false},
		{"copilot", "claude-opus-5.5", true},
		// Without a Claude version in the id, the provider decides.
		{"anthropic", "our-company-best", true},
		{"unknown", "something", true},
		{"bedrock", "amazon.nova-pro-v1:0", false},
		{"bedrock", "arn:aws:bedrock:eu-west-1:1:inference-profile/x", true},
		{"openai", "gpt-5.6", false},
		{"openai-compatible", "qwen3-coder", false},
		{"google", "gemini-3-pro", false},
	} {
		if got := render.ProfileNamed(c.profile).BindsThinking(c.model); got != c.want {
			t.Errorf("%s, %s: %v", c.profile, c.model, got)
		}
	}
}

// In place of a compaction part or a subtask part, OpenCode sends a fixed sentence. The ids in the part do not reach
// the provider, and are different in a fork. So they must not change the hash of the message. Otherwise the fork would
// lose its thinking.
func TestIDsOfFixedSentencesAreNotOnTheWire(t *testing.T) {
	for _, kind := range []string{"compaction", "subtask"} {
		hash := func(id string) render.Hash {
			m := transcript.OpenCode{}.Decode(json.Value(`{"info":{"id":"` + id + `","role":"user"},"parts":[{"id":"p` + id + `","messageID":"` + id + `","type":"` + kind + `","tail_start_id":"t` + id + `"}]}`))
			w := render.WireMessageOf(&m)
			return w.Hash()
		}
		if hash("a") != hash("b") {
			t.Errorf("the ids of a %s change the wire", kind)
		}
	}
}
