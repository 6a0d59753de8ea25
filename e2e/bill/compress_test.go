package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

func TestSentencesAreProseAndErrors(t *testing.T) {
	text := "[User]: Turn 1: Mills count. From now on never weigh the seed of ward-010 before noon.\n" +
		"[Tool result]: <path>/p</path>\n1: entry 1.1 00 mill mill 17/2/3\n9: error: sheet 003 has no seal (E4003)\n" +
		"The granary holds 17002 sacks. It stands in records/ward-005/weights.toml now.\n[truncated]"
	want := []string{
		"[User]: Turn 1: Mills count.", "From now on never weigh the seed of ward-010 before noon.",
		"error: sheet 003 has no seal (E4003)",
		"The granary holds 17002 sacks.", "It stands in records/ward-005/weights.toml now.",
	}
	if diff := cmp.Diff(want, sentences(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummaryOfASummaryLosesAgain(t *testing.T) {
	var told []string
	for i := range 2000 {
		told = append(told, fmt.Sprintf("Sentence number %d.", i))
	}
	once := compress(told, keptOf, "first")
	if again := compress(told, keptOf, "first"); !cmp.Equal(once, again) {
		t.Error("the same summary has other sentences the second time")
	}
	if n := len(once); n < 350 || n > 450 {
		t.Errorf("%d of 2,000 sentences are kept, want about a fifth", n)
	}
	if n := len(compress(once, keptOf, "second")); n < 50 || n > 110 {
		t.Errorf("%d of %d sentences are kept of the summary, want about a fifth", n, len(once))
	}
}

func TestCompactionReadsItsEarlierSummary(t *testing.T) {
	var earlier, talk strings.Builder
	for i := range 100 {
		fmt.Fprintf(&earlier, "- Old %d.\n", i)
		fmt.Fprintf(&talk, "[User]: New %d.\n", i)
	}
	previous := "Rules stay out.\n<previous-summary>\n" + earlier.String() + "\n</previous-summary>"
	one := "Here it is:\n\n<conversation>\n" + talk.String() + "\n</conversation>\n\n" + previous
	two := previous + "\n\nRules.\n\nThe following is the conversation history:\n\n" + talk.String()
	var got string
	for _, prompt := range []string{one, two} {
		got = compaction(prompt, place{7, 3}).text
		if !strings.Contains(got, "Old ") || !strings.Contains(got, "New ") || strings.Contains(got, "Rules") {
			t.Errorf("the summary:\n%s", got)
		}
	}
	const checkpoint = "<conversation-checkpoint>\n<summary>\nold\n</summary>\n\n"
	for text, want := range map[string][2]string{
		got: {got, ""}, "Turn 7": {"", "Turn 7"}, "<session-history-since>\nx": {"<session-history-since>\nx", ""},
		checkpoint + "<recent-context>new": {checkpoint, "new"},
	} {
		if summary, verbatim := splitSummary(text); summary != want[0] || verbatim != want[1] {
			t.Errorf("%q is split into the summary %q and the messages %q", text, summary, verbatim)
		}
	}
}

// If an answer of the scripted historian were invalid, the host would repeat the run, and the bill would count it
// twice.
func TestCompartmentsAreValid(t *testing.T) {
	chunk := historian.Chunk{Range: chronicle.Range{Start: 5, End: 40}}
	var text []string
	for n := 5; n <= 40; n += 4 {
		text = append(text, fmt.Sprintf("[%d] U: Turn %d: Do it & <go>.", n, n), fmt.Sprintf("[%d-%d] A: Done one. / TC: read(x) / Done two.", n+1, min(n+3, 40)))
	}
	for n := 5; n <= 40; n++ {
		chunk.Lines = append(chunk.Lines, chronicle.Place{Ordinal: n, Key: fmt.Sprint("m", n)})
	}
	chunk.Text = strings.Join(text, "\n")
	prompt := historian.Prompt(&historian.Job{Session: "s", Chunk: chunk})
	if !isForHistorian(prompt) || isForHistorian("Turn 3: [5] U: x") {
		t.Fatal("the historian's prompt is not recognised")
	}
	draft := historian.Parse(compartments(prompt).text)
	if n := len(draft.Compartments); n != 5 {
		t.Errorf("%d compartments of 9 turns, want one for each two turns", n)
	}
	if _, err := historian.Validate(draft, &chunk); err != nil {
		t.Error(err)
	}
}
