package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestTraitIsPromoted(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has these sessions")
	testTrait(t, schema.HarnessOpenCode)
}

func TestPiTraitIsPromoted(t *testing.T) { testTrait(t, schema.HarnessPi) }

var politePrompt = regexp.MustCompile(`\[(\d+)\] U: (Please .*)`)

// In three sessions, the user shows the same trait. In the third session, the user agrees that the trait may be
// remembered. A session of another project must then have the memory.
func testTrait(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "A note.\n"})
	w.configure(`{"historian": {"disable": false}, "dreamer": {"schedule": "", "user_memories": {"enabled": true}}}`)
	another := w.addProject("another", map[string]string{"notes.txt": "A note.\n"})
	w.mock.AddRule(mockllm.Rule{
		Name:  "historian",
		Match: func(r *mockllm.Request) bool { return strings.Contains(textAt(r, 0, 0), "BEGIN DATA new_messages") },
		Answer: func(r *mockllm.Request) mockllm.Step {
			prompt := textAt(r, 0, 0)
			said := politePrompt.FindStringSubmatch(prompt)
			answer := historiantest.Output(historiantest.Compartment(historiantest.RangeOf(prompt), "Questions were answered."))
			return mockllm.Say(strings.Replace(answer, "<user_observations>", fmt.Sprintf("<user_observations>\n* [%s] Prefers polite prompts. U: %s\n", said[1], said[2]), 1))
		},
	})
	o := w.withPlugin()
	o.Limits = opencodetest.Limits{Context: historyWindow, Output: 4_000}
	about := func() string { return w.hostSays("memory", "list", "--user") }
	for n := 1; n <= 3; n++ {
		if got := about(); strings.Contains(got, "polite") {
			t.Errorf("%d sessions make a memory: %s", n-1, got)
		}
		a := w.launch(o)
		session := w.session(a)
		w.mock.AddRule(mockllm.Rule{
			Name: session, Match: func(r *mockllm.Request) bool { return r.Session() == session },
			Answer: func(*mockllm.Request) mockllm.Step { return mockllm.Say("Done. " + strings.Repeat("word ", 300)) },
		})
		for i := range 3 {
			w.prompt(a, session, fmt.Sprintf("Please answer question %d of day %d.", i+1, n))
		}
		if err := a.Command(w.ctx, session, "ctx-wrapup 1"); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); w.published() < n; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("session %d has no summary", n)
			}
		}
		w.stop(a)
	}
	if got := about(); !strings.Contains(got, "Prefers polite prompts.") {
		t.Fatalf("three sessions make no memory: %s", got)
	}
	o.Project = another
	a := w.launch(o)
	session := w.session(a)
	w.play(session, mockllm.Say("Hello."))
	w.prompt(a, session, "Hello.")
	if first := string(w.requests(session)[0].Body); !strings.Contains(first, "Prefers polite prompts.") {
		t.Errorf("another project is not given the memory: %s", tail(first, 3_000))
	}
	w.stop(a)
}

func (w *world) published() (n int) {
	w.t.Helper()
	for _, row := range w.spent().Rows {
		n += row.Compartments
	}
	return n
}
