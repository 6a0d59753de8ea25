package e2e

import (
	"fmt"
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

// One session finds out why a build fails. When the same error appears in a second session, the host must add a line
// after the error's output. This line says what helped in the first session. Later requests must contain the same line.
// The first session must get no line.
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
	var steps []mockllm.Step
	for i := range 4 { // on a slow machine, the line appears only after a later error
		steps = append(steps, w.bash(fmt.Sprint("toolu_again", i), "sh build.sh"))
	}
	w.play(second, append(steps, mockllm.Say("I cannot build it."), mockllm.Say("You are welcome."))...)
	w.prompt(a, second, "Build the project, please.")
	w.prompt(a, second, "Thanks for that.")
	status, err := w.user.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range status.Sessions {
		if r := s.Recalled; s.Session == second && (r == nil || r.Lines != 1) || s.Session == first && r != nil {
			t.Errorf("the status of session %s counts %+v", s.Session, r)
		}
	}
	w.stop(a)
	w.stopHost()
	for _, r := range w.requests(first) {
		if lines := linesOf(r); len(lines) > 0 {
			t.Errorf("request %d of the first session has %q", r.Seq, lines)
		}
	}
	var line string
	for _, r := range w.requests(second) {
		lines := linesOf(r)
		switch {
		case line == "" && len(lines) == 0:
		case line == "" && len(lines) == 1:
			if line = lines[0]; !strings.Contains(line, "toolchain zeta-7 is not installed") || !strings.Contains(line, "<system-reminder>\nearlier, "+first+" #") ||
				!strings.Contains(line, `this error went away after "sh setup.sh"`) {
				t.Errorf("request %d: %q", r.Seq, line)
			}
		case len(lines) != 1 || lines[0] != line:
			t.Errorf("request %d has %q, and an earlier one %q", r.Seq, lines, line)
		}
	}
	if line == "" {
		t.Error("no request has a line")
	}
	for i, p := range w.journal(second) {
		if p.Bust && i > 0 {
			t.Errorf("pass %d is a bust (%s)", p.Pass, p.BustCause)
		}
	}
}

func linesOf(r *mockllm.Request) (all []string) {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if strings.Contains(c.Text, "<system-reminder>\nearlier, ") {
				all = append(all, c.Text)
			}
		}
	}
	return all
}
