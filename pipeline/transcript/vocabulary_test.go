package transcript_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func vocabularyOf(t *testing.T, h schema.Harness) *transcript.Vocabulary {
	t.Helper()
	codec, ok := transcript.CodecOf(string(h))
	if !ok {
		t.Fatalf("no codec of %s", h)
	}
	return codec.Vocabulary()
}

func TestToolsOfOpenCode(t *testing.T) {
	v := vocabularyOf(t, schema.HarnessOpenCode)
	for tool, want := range map[string]int{
		"read": 1, "todowrite": 1, "task": 1, "aft_outline": 1, "aft_zoom": 1,
		"edit": 2, "write": 2, "apply_patch": 2, "grep": 2, "glob": 2, "aft_search": 2,
		"bash": 0, "webfetch": 0, "": 0, "mcp_": 0,
		"mcp_Read": 1, "MCP_grep": 2, "READ": 1, "mcp_mcp_read": 0, "reader": 0,
	} {
		if got := v.Tool(tool).Tier; got != want {
			t.Errorf("tier of %q: %d, want %d", tool, got, want)
		}
	}
	for tool, want := range map[string]bool{"read": true, "mcp_Grep": true, "lsp_symbols": true, "bash": false, "write": false, "task": false} {
		if got := v.Tool(tool).Idempotent; got != want {
			t.Errorf("%q only reads: %v", tool, got)
		}
	}
	for tool, want := range map[string]transcript.FileUse{
		"read": transcript.UsesFile, "edit": transcript.UsesFile, "multiedit": transcript.UsesFile, "write": transcript.WritesFile, "grep": transcript.NoFile,
	} {
		if got := v.Tool(tool).File; got != want {
			t.Errorf("%q does %d with its file, want %d", tool, got, want)
		}
	}
}

// The vocabulary of a harness has no pattern for a date if the harness's system prompt contains no date, as in Pi from
// version 0.87 on. DateIn must then find no date, and WithDate must not change the text.
func TestSystemPromptWithoutADate(t *testing.T) {
	const prompt = "You are.\nCurrent date: 2026-11-22\n"
	var v transcript.SystemVocabulary
	if date, text := v.DateIn(prompt), v.WithDate(prompt, "x"); date != "" || text != prompt {
		t.Errorf("the date %q, the text %q", date, text)
	}
}
