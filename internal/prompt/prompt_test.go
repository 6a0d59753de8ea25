package prompt

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"

	"github.com/magicctx/magicctx-host/pipeline/nudge"
)

func TestNudgeTextsSpeakToTheModel(t *testing.T) {
	for _, file := range []string{"nudge_gentle.md", "nudge_firm.md", "nudge_urgent.md", "nudge_message.md"} {
		got := nudgeText(file, nudge.Pile{Reclaimable: 60_499, Oldest: []nudge.Unit{{Tag: 3, Tool: "bash"}, {Tag: 7}}})
		for _, want := range []string{"60k tokens", "\nOldest that can go: §3§ bash · §7§ tool\n</system-reminder>"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", file, want, got)
			}
		}
		if got := nudgeText(file, nudge.Pile{}); strings.Contains(got, "Oldest") || !strings.HasSuffix(got, ".\n</system-reminder>") {
			t.Errorf("%s without tags:\n%q", file, got)
		}
	}
}

// A subagent's session is never summarised, so ctx_expand would find nothing, and the guidance must not mention it.
func TestSubagentsAreNotToldOfExpand(t *testing.T) {
	if strings.Contains(guidanceFor(mode.Mode{IsSubagent: true, Reduces: true}, schema.Config{}), transcript.ExpandTool) {
		t.Error("the guidance of a subagent names ctx_expand")
	}
}
