package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

func TestRecall(t *testing.T) {
	suite.OnlyWithAll(t, "internal/host has this session for each harness")
	testRecall(t, schema.HarnessOpenCode)
}

func TestPiRecall(t *testing.T) {
	suite.OnlyWithAll(t, "internal/host has this session for each harness")
	testRecall(t, schema.HarnessPi)
}

// One session finds out why a build fails. When a second session meets the same error, a line at the end of the output
// says what helped. The requests after that repeat the line, and no request of the first session has one.
func testRecall(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{
		"build.sh": "test -f .toolchain || { echo 'error: toolchain zeta-7 is not installed'; exit 1; }\necho built\n",
		"setup.sh": "touch .toolchain\n",
	})
	a := w.launch(w.withPlugin())
	first := w.session(a)
	w.play(first, w.bash("toolu_1", "sh build.sh"), w.bash("toolu_2", "sh setup.sh"), w.bash("toolu_3", "sh build.sh"), mockllm.Say("It is built."), mockllm.Say("You are welcome."))
	w.prompt(a, first, "Build the project, please.")
	w.prompt(a, first, "Thanks for that.")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.hostSays("search", "built"), "It is built."); {
		if time.Now().After(deadline) {
			t.Fatalf("the host does not index the session:\n%s", w.hostSays("search", "built"))
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err := os.Remove(filepath.Join(w.project, ".toolchain")); err != nil {
		t.Fatal(err)
	}

	second := w.session(a)
	w.play(second, w.bash("toolu_4", "sh build.sh"), w.bash("toolu_5", "sh setup.sh"), mockllm.Say("It is set up."), mockllm.Say("You are welcome."))
	w.prompt(a, second, "Build the project, please.")
	w.prompt(a, second, "Thanks for that.")
	w.stop(a)
	for _, r := range w.requests(first) {
		if strings.Contains(string(r.Body), "earlier, ") {
			t.Errorf("request %d of the first session has a line", r.Seq)
		}
	}
	with := 0
	for _, r := range w.requests(second) {
		for _, m := range r.Messages {
			for _, c := range m.Content {
				before, line, found := strings.Cut(c.Text, "<system-reminder>\nearlier, ")
				if !found {
					continue
				}
				with++
				if !strings.Contains(before, "toolchain zeta-7 is not installed") || !strings.HasPrefix(line, first+" #") || !strings.Contains(line, `this error went away after "sh setup.sh"`) {
					t.Errorf("request %d: %q", r.Seq, c.Text)
				}
			}
		}
	}
	if with != 3 {
		t.Errorf("%d requests have the line, want 3", with)
	}
	for i, p := range w.journal(second) {
		if p.Bust && i > 0 {
			t.Errorf("pass %d is a bust (%s)", p.Pass, p.BustCause)
		}
	}
	if got := w.hostSays("status", second); !strings.Contains(got, "1 line from earlier messages, 1 followed") {
		t.Error(got)
	}
	w.stopHost()
}
