package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestSearch(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testSearch(t, schema.HarnessOpenCode)
}

func TestPiSearch(t *testing.T) { testSearch(t, schema.HarnessPi) }

// The words and commands of one session must be found by ctx_search in the project's next session, and by
// `magicctx-host search`. The running host updates the index. `magicctx-host index` adds the last answer, and sessions
// from before the installation.
func testSearch(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "x\n"})
	a := w.launch(w.withPlugin())
	first := w.session(a)
	w.play(first, w.bash("toolu_zebra", "echo zebra; exit 3"), mockllm.Say("The zebra has stripes."), mockllm.Say("Done."))
	w.prompt(a, first, "Where is the zebra?")
	w.prompt(a, first, "Thanks.")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.hostSays("search", "zebra"), "zebra has stripes"); {
		if time.Now().After(deadline) {
			t.Fatalf("the host does not index the session:\n%s", w.hostSays("search", "zebra"))
		}
		time.Sleep(200 * time.Millisecond)
	}

	second := w.session(a)
	w.play(second,
		mockllm.Call("toolu_search1", "ctx_search", map[string]any{"query": "zebra stripes"}), mockllm.Say("It has stripes."),
		mockllm.Call("toolu_search3", "ctx_expand", map[string]any{"start": 1, "end": 3, "session": first}), mockllm.Say("I have read it."),
		mockllm.Call("toolu_search2", "ctx_search", map[string]any{"query": "xyzzy"}), mockllm.Say("There is none."))
	w.prompt(a, second, "What do we know about zebras?")
	for _, want := range []string{
		"message 3 of " + string(h) + " session " + first, "\n    The zebra has stripes.\n",
		"command with exit status 3, message 2 of ", "\n    echo zebra; exit 3\n",
	} {
		if got := w.resultOf("toolu_search1"); !strings.Contains(got, want) || strings.Contains(got, "What do we know") {
			t.Errorf("ctx_search does not show %q:\n%s", want, got)
		}
	}
	w.prompt(a, second, "Read it to the letter.")
	if got := w.resultOf("toolu_search3"); !strings.Contains(got, "[1] U: Where is the zebra?\n[2] call bash ") || !strings.Contains(got, "[3] A: The zebra has stripes.") {
		t.Errorf("ctx_expand shows of the other session\n%s", got)
	}
	w.prompt(a, second, "And about its neighbour?")
	if got := w.resultOf("toolu_search2"); got != "Nothing found. Try other or fewer words." {
		t.Error(got)
	}
	if failed, err := a.FailedCalls(w.ctx, second); err != nil || len(failed) > 0 {
		t.Errorf("failed calls %q, %v", failed, err)
	}
	w.stop(a)
	w.stopHost()

	if got := w.hostSays("index"); !strings.Contains(got, "2 sessions, ") {
		t.Error(got)
	}
	if got := w.hostSays("search", "neighbour"); !strings.Contains(got, "And about its neighbour?") {
		t.Error(got)
	}
	if got := w.hostSays("index"); !strings.Contains(got, "2 sessions, 2 of them unchanged: 0 messages") {
		t.Error(got)
	}
}

func (w *world) hostSays(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, w.user.Product.Host, args...)
	cmd.Env = w.user.Home.Env(w.user.Home.Root, "MAGIC_CONTEXT_DATA_DIR="+w.user.DataDir)
	out, _ := cmd.CombinedOutput() // a search fails until the host has created the index
	return string(out)
}
