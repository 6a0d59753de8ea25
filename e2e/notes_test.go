package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestNotesForLater(t *testing.T) {
	suite.OnlyWithAll(t, "internal/host has this session for each harness")
	testNotesForLater(t, schema.HarnessOpenCode)
}

func TestPiNotesForLater(t *testing.T) {
	suite.OnlyWithAll(t, "internal/host has this session for each harness")
	testNotesForLater(t, schema.HarnessPi)
}

// The model writes a note that waits until a file exists. When the host finds the file, it must tell the next session
// of the project about the note, but only once. The user also calls /ctx-aug. Its result must be sent only with the
// next prompt.
func testNotesForLater(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"flag.txt": "x\n"})
	a := w.launch(w.withPlugin())
	first := w.session(a)
	w.play(first,
		mockllm.Call("toolu_note1", "ctx_note", map[string]any{"action": "write", "content": "Feed the zebra.", "condition": "file: flag.txt"}),
		mockllm.Call("toolu_note2", "ctx_note", map[string]any{"action": "write", "content": "x", "condition": "file: /etc/passwd"}),
		mockllm.Say("The zebra needs the striped compiler."))
	w.prompt(a, first, "Feed the zebra when the flag is there.")
	for call, want := range map[string]string{"toolu_note1": "Note 1 is kept.", "toolu_note2": "Error: a condition that the host tests is"} {
		if got := w.resultOf(call); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
	w.until("the note is not ready", func() bool { return strings.Contains(w.hostSays("notes"), "     1  ready, ") })
	w.until("the session is not indexed", func() bool { return strings.Contains(w.hostSays("search", "striped"), "striped compiler") })

	second := w.session(a)
	w.play(second, mockllm.Say("Hello."), mockllm.Say("The striped compiler."), mockllm.Say("Bye."))
	w.prompt(a, second, "Hello.")
	if err := a.Command(w.ctx, second, "ctx-aug striped compiler"); err != nil {
		t.Fatal(err)
	}
	w.prompt(a, second, "What does it need?")
	w.prompt(a, second, "Thanks.")
	w.stop(a)
	w.stopHost()
	all := w.requests(second)
	if len(all) != 3 {
		t.Fatalf("%d requests", len(all))
	}
	for i, r := range all {
		w.wantInBody(r, "Note 1 of this project waited for", true)
		w.wantInBody(r, "<sidekick-augmentation>", i > 0)
		if body := string(r.Body); strings.Count(body, "waited for") != 1 || strings.Count(body, "<sidekick-augmentation>") > 1 {
			t.Errorf("request %d tells it again", i)
		}
	}
	for _, r := range w.requests(first) {
		w.wantInBody(r, "waited for", false)
	}
}

func (w *world) until(problem string, isDone func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !isDone(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal(problem)
		}
	}
}
