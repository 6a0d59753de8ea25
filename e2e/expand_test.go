package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// The model calls ctx_expand twice to read summarised messages. At the first call, the host still has the messages in
// memory. Then the harness compacts the session. At the second call, the host must read the messages from the harness's
// own store.
func TestExpand(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testExpand(t, schema.HarnessOpenCode)
}

func testExpand(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	const line = "the  answer\tis 41 \\ \"§12§\"\n"
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": strings.Repeat(line, 300)})
	w.mock.AddRule(mockllm.Rule{
		Name: "summary", Match: mockllm.WithoutTools, Answer: mockllm.Always(mockllm.Say("They talked about notes.")),
	})
	a := w.launchCompacting()
	session := w.session(a)
	k := &headKeeper{world: w, agent: a, session: session, first: map[int]*mockllm.Request{}}
	ask := map[string]any{"start": 1, "end": 3}
	w.play(session,
		w.readNotes("toolu_expand1"), mockllm.Say("It is 41."), w.readNotes("toolu_expand2"), mockllm.Say("Still 41."),
		mockllm.Call("toolu_expand3", "ctx_expand", ask), mockllm.Say("It was 41."),
		mockllm.Call("toolu_expand4", "ctx_expand", ask), mockllm.Say("It was 41 before the compaction."),
		mockllm.Call("toolu_expand5", "ctx_expand", map[string]any{"start": 99}), mockllm.Say("There is none."))
	k.turn(1)
	k.turn(2)
	k.publish(1)
	k.flush()

	k.turn(3)
	k.checkHead(k.firstOf(3), []int{1}, nil)
	fromMemory := w.resultOf("toolu_expand3")
	for _, want := range []string{"[1] U: " + promptOf(1) + "\n[2] call read ", "[3] A: It is 41."} {
		if !strings.Contains(fromMemory, want) {
			t.Errorf("ctx_expand does not show %q:\n%.600s", want, fromMemory)
		}
	}
	if n := strings.Count(fromMemory, strings.TrimSpace(line)); n != 300 {
		t.Errorf("%d of 300 lines of the file are to the letter", n)
	}

	w.compact(a, session)
	k.turn(4)
	w.wantInBody(k.newest(), "They talked about notes.", true)
	if fromStore := w.resultOf("toolu_expand4"); fromStore != fromMemory {
		t.Errorf("from the harness's store, ctx_expand shows\n%.900s\nfrom memory it showed\n%.900s", fromStore, fromMemory)
	}
	k.turn(5)
	if got := w.resultOf("toolu_expand5"); !strings.Contains(got, "there is no message 99; messages 1 to ") {
		t.Errorf("past the end, ctx_expand shows %q", got)
	}
	if failed, err := a.FailedCalls(w.ctx, session); err != nil || len(failed) > 0 {
		t.Errorf("failed calls %q, %v", failed, err)
	}

	w.checkHistory("beside the host", session)
	w.stop(a)
	w.stopHost()
	w.checkHistory("without a host", session)
	checkBusts(t, w.requests(session), w.journal(session))
}

func (w *world) launchCompacting() agent.Agent {
	w.t.Helper()
	if w.harness != schema.HarnessPi {
		return w.launch(w.withPlugin())
	}
	o := w.user.WithPi(product.Host, w.project, w.mock.URL())
	o.Settings = map[string]any{"compaction": map[string]any{"enabled": true, "keepRecentTokens": 100}}
	return w.startPi(o)
}

func (w *world) compact(a agent.Agent, session string) {
	w.t.Helper()
	var err error
	switch a := a.(type) {
	case *agent.OpenCode:
		err = a.Summarize(w.ctx, session, opencodetest.ClaudeModel)
	case *agent.Pi:
		err = a.Compact(w.ctx)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resultOf(call string) string {
	w.t.Helper()
	for _, r := range w.mock.Requests() {
		for _, m := range r.Messages {
			for _, c := range m.Content {
				if c.Type == "tool_result" && c.ID == call {
					return leadingTag.ReplaceAllString(c.Text, "")
				}
			}
		}
	}
	w.t.Fatalf("the model reads no result of %s", call)
	return ""
}

func (w *world) checkHistory(when, session string) {
	w.t.Helper()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list"}, " 3 "},
		{[]string{"show", session}, "turn 1"},
		{[]string{"show", session, "2"}, "The user asked, the file was read."},
		{[]string{"expand", session, "1-3"}, "[1] user: " + promptOf(1) + "\n\n[2] call read "},
		{[]string{"expand", session, "3", "--json"}, `"ordinal":3,"raw":{`},
	} {
		cmd := exec.CommandContext(w.ctx, w.user.Product.Host, append([]string{"history"}, c.args...)...)
		cmd.Env = w.user.Home.Env(w.user.Home.Root, "MAGIC_CONTEXT_DATA_DIR="+w.user.DataDir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			w.t.Errorf("%s, history %s: %v\n%.900s\nwant %q", when, fmt.Sprint(c.args), err, out, c.want)
		}
	}
}
