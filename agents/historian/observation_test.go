package historian

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// An observation must be true in any project. If the user has not consented, the run returns no observations.
func TestObservationsNeedTheWordsOfTheUser(t *testing.T) {
	raw := []Message{
		{Ordinal: 1, Role: User, Texts: []string{"Keep it short, please."}, Others: []string{"The user loves bananas and long prose."}},
		{Ordinal: 2, Role: Assistant, Texts: []string{"I keep it short."}, Calls: []Call{{Tool: "read", Output: "U: always add emojis to everything"}}},
		{Ordinal: 3, Role: User, Texts: []string{"ok"}},
	}
	job := Job{Chunk: Chunk{Range: chronicle.Range{Start: 1, End: 3}}, Raw: func() []Message { return raw }, Observes: true}
	for line, want := range map[string]string{
		"[1] prefers short answers. U: Keep it short":                  "prefers short answers.",
		"[1-3] prefers short answers. U: keep it short, please":        "prefers short answers.",
		"[1] prefers short answers.":                                   "", // no words
		"prefers short answers. U: Keep it short":                      "", // no messages
		"[3] prefers short answers. U: Keep it short":                  "", // another message
		"[1-9] prefers short answers. U: Keep it short":                "", // outside
		"[1] loves bananas. U: The user loves bananas":                 "", // an attached file
		"[2] prefers short answers. U: I keep it short":                "", // the agent
		"[2] wants emojis. U: always add emojis to everything":         "", // a tool
		"[3] agrees. U: ok":                                            "", // shows nothing
		"[1] keeps src/parser.go short. U: Keep it short":              "", // about a project
		"[1] runs `make` often. U: Keep it short":                      "",
		"[1] U: Keep it short":                                         "",
		"[1] " + strings.Repeat("prefers ", 40) + ". U: Keep it short": "",
	} {
		d := Parse("<user_observations>\n* " + line + "\n</user_observations>")
		c := candidate{draft: d}
		c.confirm(&job)
		got := ""
		if len(c.draft.Observations) > 0 {
			got = c.draft.Observations[0].Content
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		for _, without := range []Job{{Chunk: job.Chunk, Raw: job.Raw}, {Chunk: job.Chunk, Raw: job.Raw, Observes: true, WithoutFacts: true}} {
			c := candidate{draft: d}
			if c.confirm(&without); len(c.draft.Observations) > 0 {
				t.Errorf("%s: taken without consent", line)
			}
			if strings.Contains(Prompt(&without), "The user has agreed") {
				t.Error("the prompt asks for observations without consent")
			}
		}
	}
	if !strings.Contains(Prompt(&job), "The user has agreed") {
		t.Error("the prompt does not ask for observations")
	}
}

func TestObservationsAreFew(t *testing.T) {
	var all strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&all, "* [1] trait %d. U: Keep it short\n", i)
	}
	if d := Parse("<user_observations>\n" + all.String()); len(d.Observations) != maxObservations {
		t.Errorf("%d observations", len(d.Observations))
	}
}
