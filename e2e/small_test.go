package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

type shortCase struct {
	name   string
	test   func(*world, agent.Agent) (session string)
	unsent int
}

var shorts = []shortCase{
	{name: "a revert", test: revert},
	{name: "a fork", test: fork},
	{name: "an abort of the answer", test: abortAnswer},
	{name: "an abort of a tool", test: abortTool, unsent: 1}, // Pi prepares a request with the result, but does not send it
	{name: "the OpenAI dialect", test: openAI},
	{name: "arguments that do not parse", test: badArguments},
}

func TestShortSessions(t *testing.T) {
	testShortSessions(t, schema.HarnessOpenCode, append([]shortCase{
		{name: "OpenCode's own requests pass untouched", test: ownRequests},
		{name: "a subagent does not touch its parent", test: subagent},
	}, shorts...))
}

func testShortSessions(t *testing.T, h schema.Harness, cases []shortCase) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.AddRule(mockllm.Rule{
		Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question")),
	})
	w.mock.AddRule(mockllm.Rule{
		Name: "summary", Match: mockllm.WithoutTools, Answer: mockllm.Always(mockllm.Say("They talked about notes.")),
	})
	options := w.withFlatPrices()
	options.Config["snapshot"] = true // a revert restores files from snapshots
	oc := w.launch(options)

	var sessions []string // the journal of each session is compared with its requests at the end
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := w.in(t)
			session := tc.test(w, oc)
			sessions = append(sessions, session)
			requests := w.requests(session)
			for _, r := range requests {
				checkRequest(t, r)
			}
			checkTags(t, requests)
		})
	}

	w.stop(oc)
	w.stopHost()
	for i, id := range sessions {
		passes := w.journal(id)
		if unsent := cases[i].unsent; unsent > 0 && h == schema.HarnessPi {
			passes = join(passes, func(p store.PassRow) bool { return p.Pass == passes[unsent].Pass })
		}
		checkBusts(t, w.requests(id), passes)
	}
}

func (w *world) readNotes(id string) mockllm.Step {
	tool, input := w.tools().Read(filepath.Join(w.project, "notes.txt"), 0, 0)
	return mockllm.Call(id, tool, input)
}

func (w *world) last(session string) *mockllm.Request {
	w.t.Helper()
	requests := w.requests(session)
	if len(requests) == 0 {
		w.t.Fatalf("no request of session %s", session)
	}
	return requests[len(requests)-1]
}

func (w *world) only(rule string) *mockllm.Request {
	w.t.Helper()
	requests := w.requests(rule)
	if len(requests) != 1 {
		w.t.Fatalf("%d requests were answered by rule %s, want 1", len(requests), rule)
	}
	return requests[0]
}

func (w *world) wantInBody(r *mockllm.Request, text string, want bool) {
	w.t.Helper()
	if got := strings.Contains(string(r.Body), text); got != want {
		w.t.Errorf("request %d contains %q: %v, want %v", r.Seq, text, got, want)
	}
}

// OpenCode itself asks the model for titles, and for a summary when it compacts. The plugin must not change these
// requests.
func ownRequests(w *world, a agent.Agent) string {
	oc := a.(*agent.OpenCode)
	session, err := oc.CreateSession(w.ctx, opencodetest.NewSession{}) // without a title, so that OpenCode asks for one
	if err != nil {
		w.t.Fatal(err)
	}
	w.play(session.ID, w.readNotes("toolu_own1"),
		mockllm.Say("It says 41."), mockllm.Say("You are welcome."), mockllm.Say("Still 41."))
	w.prompt(oc, session.ID, "What is the answer?")
	w.prompt(oc, session.ID, "Thanks.")
	if err := oc.Summarize(w.ctx, session.ID, opencodetest.ClaudeModel); err != nil {
		w.t.Fatal(err)
	}
	for _, rule := range []string{"title", "summary"} {
		r := w.only(rule)
		w.wantInBody(r, "What is the answer?", true)
		for _, trace := range []string{guidanceHeading, "§", "ctx_reduce"} {
			w.wantInBody(r, trace, false)
		}
	}
	w.prompt(oc, session.ID, "And now?")
	w.wantInBody(w.last(session.ID), "They talked about notes.", true)
	return session.ID
}

func subagent(w *world, a agent.Agent) string {
	oc := a.(*agent.OpenCode)
	parent := w.session(oc)
	w.play(parent, mockllm.Say("Ready."), mockllm.Say("Done."))
	w.prompt(oc, parent, "Wait.")
	child, err := oc.CreateSession(w.ctx, opencodetest.NewSession{Title: "child", ParentID: parent})
	if err != nil {
		w.t.Fatal(err)
	}
	w.play(child.ID, w.readNotes("toolu_child1"), mockllm.Say("41."))
	w.prompt(oc, child.ID, "Read the notes.")
	w.prompt(oc, parent, "Go on.")

	status, err := w.user.Status(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	modes := map[string]string{}
	for _, s := range status.Sessions {
		modes[s.Session] = s.Mode
	}
	if modes[parent] != "primary" || modes[child.ID] != "subagent" {
		w.t.Errorf("parent is %q, child is %q", modes[parent], modes[child.ID])
	}
	requests := w.requests(parent)
	if where, ok := extends(requests[0], requests[1]); !ok {
		w.t.Errorf("the parent's prefix is gone: %s", where)
	}
	for _, r := range w.requests(child.ID) {
		checkValid(w.t, r)
	}
	return parent
}

func revert(w *world, oc agent.Agent) string {
	session := w.session(oc)
	w.play(session, w.readNotes("toolu_revert1"), mockllm.Say("41."), mockllm.Say("Green."), mockllm.Say("Blue."), mockllm.Say("Yes."))
	w.prompt(oc, session, "Read the notes.")
	w.prompt(oc, session, "Name a colour.")
	if err := oc.GoBack(w.ctx, session, "Name a colour."); err != nil {
		w.t.Fatal(err)
	}
	w.prompt(oc, session, "Name another colour.")
	w.wantInBody(w.last(session), "Name a colour.", false)
	w.wantInBody(w.last(session), "toolu_revert1", true)
	w.prompt(oc, session, "Sure?")
	return session
}

func fork(w *world, oc agent.Agent) string {
	original := w.session(oc)
	w.play(original, w.readNotes("toolu_fork1"), mockllm.Say("41."))
	w.prompt(oc, original, "Read the notes.")
	copied, err := oc.Copy(w.ctx, original)
	if err != nil {
		w.t.Fatal(err)
	}
	w.play(copied, mockllm.Say("Still 41."), mockllm.Say("Yes."))
	w.prompt(oc, copied, "And now?")
	w.wantInBody(w.last(copied), "toolu_fork1", true)
	w.prompt(oc, copied, "Sure?")
	return copied
}

func abortAnswer(w *world, oc agent.Agent) string {
	session := w.session(oc)
	arrived := w.playAndTell(session, w.readNotes("toolu_abort1"), mockllm.Step{Hang: true}, mockllm.Say("Here I am."), mockllm.Say("Yes."))
	w.abortAfter(oc, session, "Read the notes.", arrived, 2)
	w.prompt(oc, session, "Are you there?")
	w.prompt(oc, session, "Sure?")
	return session
}

func abortTool(w *world, oc agent.Agent) string {
	session := w.session(oc)
	started := filepath.Join(w.root, "started")
	w.play(session,
		w.bash("toolu_abort2", "touch "+started+"; sleep 60"),
		mockllm.Say("Here I am."), mockllm.Say("Yes."))
	idle := w.promptAsync(oc, session, "Wait a minute.")
	w.waitForFile(started)
	if err := oc.Abort(w.ctx, session); err != nil {
		w.t.Fatal(err)
	}
	w.wait(idle, "the session to be idle")
	w.prompt(oc, session, "Are you there?")
	w.wantInBody(w.last(session), "toolu_abort2", true)
	w.prompt(oc, session, "Sure?")
	return session
}

func openAI(w *world, oc agent.Agent) string {
	session := w.session(oc)
	w.play(session, w.readNotes("call_1"), mockllm.Say("41."), w.readNotes("call_2"), mockllm.Say("Still 41."))
	for _, text := range []string{"Read the notes.", "Again."} {
		if err := oc.Send(w.ctx, session, opencodetest.Prompt{Text: text, Model: opencodetest.GPTModel}); err != nil {
			w.t.Fatal(err)
		}
	}
	if d := w.last(session).Dialect; d != mockllm.OpenAI {
		w.t.Errorf("the dialect is %s", d)
	}
	return session
}

func badArguments(w *world, oc agent.Agent) string {
	session := w.session(oc)
	w.play(session,
		mockllm.Step{Blocks: []mockllm.Block{mockllm.BadTool("toolu_bad1", "read", `{"filePath": `)}},
		mockllm.Call("toolu_bad2", "ctx_reduce", map[string]any{"drop": "900"}),
		mockllm.Call("toolu_bad3", "ctx_reduce", map[string]any{"drop": []int{1}}),
		mockllm.Say("Sorry."))
	w.prompt(oc, session, "Make mistakes.")
	w.wantInBody(w.last(session), "toolu_bad3", true)
	return session
}
