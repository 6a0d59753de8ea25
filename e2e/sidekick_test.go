package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestSidekick(t *testing.T)   { testSidekick(t, schema.HarnessOpenCode) }
func TestPiSidekick(t *testing.T) { testSidekick(t, schema.HarnessPi) }

// The sidekick, a hidden agent, selects findings from another session for the next prompt. Its requests must have a
// limited size and no tools. The user's session must stay cached, and `spend` must show the cost.
func testSidekick(t *testing.T, h schema.Harness) {
	suite.OnlyWithAll(t, "the tests of internal/host play the sidekick")
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "x\n"})
	w.configure(`{"sidekick": {"system_prompt": "Prefer animals."}}`)
	asked := 0
	for system, answer := range map[string]string{
		"You choose searches":      "<query>striped compiler</query>",
		"You choose what a coding": `<finding result="1">The zebra needs the striped compiler.</finding>`,
	} {
		w.mock.AddRule(mockllm.Rule{Name: "sidekick", Match: mockllm.SystemContains(system), Answer: func(r *mockllm.Request) mockllm.Step {
			if asked++; !bytes.Contains(r.Body, []byte("What does it eat")) || !r.SystemContains("Prefer animals.") || len(r.Tools) > 0 || bytes.Contains(r.Body, []byte(`"max_tokens":32000`)) {
				t.Errorf("the sidekick asks %.500s with the tools %q", r.Body, r.Tools)
			}
			return mockllm.Say(answer)
		}})
	}
	a := w.launch(w.withPlugin())
	first := w.session(a)
	w.play(first, mockllm.Say("The zebra needs the striped compiler, because of its lines."), mockllm.Say("Bye."))
	w.prompt(a, first, "What does the zebra need?")
	w.prompt(a, first, "Thanks.")
	w.until("the session is not indexed", func() bool { return strings.Contains(w.hostSays("search", "striped"), "striped compiler") })

	second := w.session(a)
	w.play(second, mockllm.Say("Hello."), mockllm.Say("A compiler."), mockllm.Say("Bye."))
	w.prompt(a, second, "Hello.")
	if err := a.Command(w.ctx, second, "ctx-aug What does it eat?"); err != nil {
		t.Fatal(err)
	}
	var spent spending
	w.until("the sidekick has found nothing", func() bool {
		spent = w.spent()
		return len(spent.Rows) == 1 && spent.Rows[0].Findings == 1
	})
	if row := spent.Rows[0]; row.Agent != "sidekick" || row.Calls != 2 || row.Money <= 0 || asked != 2 {
		t.Errorf("spend: %+v, asked %d times", row, asked)
	}
	w.wantOnly(a, first, second)
	w.prompt(a, second, "What does it need?")
	w.prompt(a, second, "Thanks.")
	w.wantExtended(second)
	for i, r := range w.requests(second) {
		w.wantInBody(r, "    The zebra needs the striped compiler.", i > 0)
		if n := bytes.Count(r.Body, []byte("<sidekick-augmentation>")); n > 1 {
			t.Errorf("request %d has %d findings", i, n)
		}
	}
}
