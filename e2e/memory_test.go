package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestMemoryIsShared(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this test")
	testMemoryIsShared(t, schema.HarnessOpenCode, schema.HarnessPi)
}

func TestPiMemoryIsShared(t *testing.T) {
	suite.OnlyWithAll(t, "it starts three harnesses")
	testMemoryIsShared(t, schema.HarnessPi, schema.HarnessOpenCode)
}

// A model in one harness writes a memory and a note. Later sessions of the project must get the memory, even in a
// linked worktree or in the other harness. A session of another project must get only those memories that a workspace
// of both projects shares. If the user adds a memory on the command line, the next session must get it.
func testMemoryIsShared(t *testing.T, writes, reads schema.Harness) {
	needs(t, writes)
	needs(t, reads)
	t.Parallel()
	w := newWorldOf(t, writes, suite.Root(t), map[string]string{"notes.txt": "x\n"})
	const fact = "Zebra builds need the striped compiler."
	a := w.launch(w.withPlugin())
	first := w.session(a)
	w.play(first,
		mockllm.Call("toolu_memory1", "ctx_memory", map[string]any{"action": "write", "category": "CONSTRAINTS", "content": fact}),
		mockllm.Call("toolu_memory2", "ctx_memory", map[string]any{"action": "write", "content": "No category."}),
		mockllm.Call("toolu_note1", "ctx_note", map[string]any{"action": "write", "content": "Feed the zebra."}),
		mockllm.Call("toolu_note2", "ctx_note", map[string]any{"action": "read"}),
		mockllm.Say("Done."))
	w.prompt(a, first, "Remember what I said about zebras.")
	for call, want := range map[string]string{
		"toolu_memory1": "Saved as memory 1 in CONSTRAINTS.", "toolu_memory2": `Error: category is ""`, "toolu_note1": "Note 1 is kept.", "toolu_note2": " Feed the zebra.\n",
	} {
		if got := w.resultOf(call); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
	for _, r := range w.requests(first) {
		w.wantInBody(r, "<project-memory>", false) // the session knows what it wrote, and its prefix stays
	}
	w.sees(a, "The next session", "<project-memory>", fact)
	if got := w.hostSays("memory", "list"); !strings.Contains(got, "1  CONSTRAINTS (from agent): "+fact) {
		t.Error(got)
	}
	if got := w.hostSays("notes", "--json"); !strings.Contains(got, `"content": "Feed the zebra."`) {
		t.Error(got)
	}
	w.hostSays("memory", "add", "--project", w.project, "--category", "naming", "Zebras are called Z.")
	w.sees(a, "After an addition on the command line", fact, "Zebras are called Z.")
	w.hostSays("memory", "archive", "2")
	w.stop(a)

	worktree := filepath.Join(w.root, "worktree")
	w.run(w.project, "git", "worktree", "add", "-q", worktree)
	another := w.addProject("another", map[string]string{"other.txt": "y\n"})
	w.harness = reads
	for dir, lines := range map[string][]string{worktree: {fact}, another: nil} {
		o := w.withPlugin()
		o.Project = dir
		b := w.launch(o)
		w.sees(b, "In "+filepath.Base(dir), lines...)
		w.stop(b)
	}

	w.hostSays("memory", "add", "--project", w.project, "--category", "naming", "The zebra wears socks.")
	w.hostSays("workspace", "set", "zoo", "--share", "constraints")
	w.hostSays("workspace", "join", "zoo", "--project", worktree, "--as", "house")
	if got := w.hostSays("workspace", "join", "zoo", "--project", another); !strings.Contains(got, "zoo shares CONSTRAINTS\n  another (") {
		t.Error(got)
	}
	o := w.withPlugin()
	o.Project = another
	b := w.launch(o)
	for _, r := range w.sees(b, "As a member of the workspace", fact, "house") {
		w.wantInBody(r, "socks", false)
	}
	w.stop(b)
	var exported struct {
		Memories []struct{ Content, Status string }
	}
	if err := json.Unmarshal([]byte(w.hostSays("memory", "export")), &exported); err != nil || len(exported.Memories) != 3 || exported.Memories[1].Status != "archived" {
		t.Errorf("%+v, %v", exported, err)
	}
}

// sees asks the model something, and checks that each request contains the given texts. If there are no texts, it
// checks that the requests contain no memory.
func (w *world) sees(a agent.Agent, when string, texts ...string) []*mockllm.Request {
	w.t.Helper()
	session := w.session(a)
	w.play(session, mockllm.Say("Hello."))
	w.prompt(a, session, when+", what do you know?")
	all := w.requests(session)
	for _, r := range all {
		for _, text := range texts {
			w.wantInBody(r, text, true)
		}
		if len(texts) == 0 {
			w.wantInBody(r, "ebra", false)
		}
		w.wantInBody(r, when, true)
	}
	return all
}
