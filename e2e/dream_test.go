package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestDream(t *testing.T)   { testDream(t, schema.HarnessOpenCode) }
func TestPiDream(t *testing.T) { testDream(t, schema.HarnessPi) }

// The dreamer merges two memories. Its request must have a limited size and no tools. The next session gets the merged
// memory, `spend` shows the cost, and one command undoes the run. The user's session must not change.
func testDream(t *testing.T, h schema.Harness) {
	suite.OnlyWithAll(t, "the tests of internal/host play the dreamer")
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "x\n"})
	w.configure(`{"dreamer": {}}`)
	const asked = "You tend the notes that coding agents keep"
	w.mock.AddRule(mockllm.Rule{Name: "dreamer", Match: mockllm.SystemContains(asked), Answer: func(r *mockllm.Request) mockllm.Step {
		if !bytes.Contains(r.Body, []byte("zebra")) || len(r.Tools) > 0 || bytes.Contains(r.Body, []byte(`"max_tokens":32000`)) {
			t.Errorf("the dreamer asks %.500s with the tools %q", r.Body, r.Tools)
		}
		return mockllm.Say(`<merge ids="1,2">The zebra is called Z.</merge>`)
	}})
	a := w.launch(w.withPlugin())
	session := w.session(a)
	w.play(session, mockllm.Say("Hello."), mockllm.Say("Still here."))
	w.prompt(a, session, "Hello.")
	for _, content := range []string{"Our zebra is called Z.", "The name of the zebra is Z."} {
		w.hostSays("memory", "add", "--project", w.project, "--category", "naming", content)
	}
	if err := a.Command(w.ctx, session, "ctx-dream"); err != nil {
		t.Fatal(err)
	}
	list := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if list = w.hostSays("memory", "list"); strings.Contains(list, "The zebra is called Z.") {
			break
		}
	}
	if strings.Contains(list, "Our zebra") || !strings.Contains(list, "The zebra is called Z.") {
		t.Errorf("after the run: %s", list)
	}
	w.wantOnly(a, session)
	w.prompt(a, session, "And now?")
	w.wantExtended(session)
	w.sees(a, "After the dream", "The zebra is called Z.")
	if rows := w.spent().Rows; len(rows) != 1 || rows[0].Agent != "dreamer" || rows[0].Calls != 1 || rows[0].Changes != 1 || rows[0].Money <= 0 {
		t.Errorf("spend: %+v", rows)
	}
	if undone := w.hostSays("memory", "restore", "--run", "1", "--project", w.project); !strings.Contains(undone, "Our zebra is called Z.") {
		t.Errorf("undone: %s", undone)
	}
}

type spending struct {
	Rows []struct {
		Agent                                  string
		Calls, Changes, Memories, Compartments int
		Findings                               int
		Money                                  float64
	}
	Runs []struct{ Text string } // the finished runs of the dreamer
}

func (w *world) spent() (s spending) {
	w.t.Helper()
	out := w.hostSays("spend", "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return s
}
