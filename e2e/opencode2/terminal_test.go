package opencode2_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/stage"
)

// newTerminalWorld skips the test without a beta: the fake has no terminal.
func newTerminalWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, stage.WithoutHistorian)
	if w.options.Source == "" {
		t.Skipf("%s does not name the source of an OpenCode 2; see docs/environment.md", opencode2.Variable)
	}
	return w
}

// likeARelease gives the beta the members of a release that both halves use. What they draw, the beta's own toasts,
// dialogs, keymap and renderer draw.
func (w *world) likeARelease() {
	w.t.Helper()
	release, err := filepath.Abs(filepath.Join("testdata", "release"))
	check(w.t, err)
	w.options.Plugins = []any{filepath.Join(release, "index.js")}
	w.options.TerminalPlugins = []string{filepath.Join(release, "tui.js")}
	w.options.Env = append(w.options.Env,
		"MAGICCTX_TEST_PLUGIN="+product.Shim, "MAGICCTX_TEST_TERMINAL="+filepath.Join(filepath.Dir(product.Shim), "tui.js"),
		"MAGICCTX_TEST_RPC="+filepath.Join(w.user.Home.Runtime, "rpc"), "MAGICCTX_TEST_SOURCE="+w.options.Source,
	)
}

// A screen is a terminal with an open session.
type screen struct {
	*world
	*pitest.Terminal
}

func (w *world) terminal(s *opencode2.Session) screen {
	w.t.Helper()
	t, err := w.server.Terminal(w.ctx, s)
	if errors.Is(err, pitest.ErrNoTerminal) {
		w.t.Skip(err)
	}
	check(w.t, err)
	w.t.Cleanup(func() {
		if err := t.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	return screen{w, t}
}

// wait waits until the screen shows all words.
func (s screen) wait(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	lines, err := s.Await(ctx, words...)
	check(s.t, err)
	return strings.Join(lines, "\n")
}

// A person sees the status line and the toasts, and runs the commands without a turn of the model.
func TestTerminal(t *testing.T) {
	w := newTerminalWorld(t)
	w.likeARelease()
	w.start()
	s := w.session(small)
	w.say(s, "hello", mockllm.Say("Hi."))
	terminal := w.terminal(s)
	t.Log(terminal.wait("Hi.", "% of 30k"))

	toast := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(w.ctx, 2*time.Minute)
		defer cancel()
		_, err := terminal.Await(ctx, " dropped")
		toast <- err
	}()
	for i := 0; w.status(s).Busts == 0; i++ {
		if i == 12 {
			t.Fatal("no bust")
		}
		id := string(rune('a' + i))
		t.Log(strings.Join(terminal.Lines()[:8], "\n"))
		w.say(s, "step "+id, calls(mockllm.Text("I look."), read("c"+id, "long.txt")), mockllm.Say("Seen "+id+"."))
	}
	check(t, <-toast)
	t.Log(terminal.wait("last bust: "))

	requests := len(w.mock.Requests())
	run := func(command string, words ...string) string {
		t.Helper()
		check(t, terminal.Type(command+" "))
		terminal.wait("┃  " + command)
		check(t, terminal.Type("\r"))
		return terminal.wait(words...)
	}
	answer := run("/ctx-status", "Next bust: ", "esc closes")
	t.Log(answer)
	said, err := w.user.Host(w.ctx, "status", s.ID)
	check(t, err)
	t.Logf("%s", said)
	for range 12 {
		check(t, terminal.Type("j"))
		time.Sleep(50 * time.Millisecond)
	}
	t.Log(terminal.wait("Last prompt: "))
	time.Sleep(10 * time.Second)
	t.Log(terminal.wait("Last prompt: ")) // a toast would be gone
	check(t, terminal.Type("\x1b"))
	time.Sleep(time.Second)
	t.Log(run("/ctx-flush", " free"))
	t.Log(run("/ctx-wrapup", "┃  magicctx"))
	t.Log(run("/ctx-recomp", "┃  magicctx"))
	t.Log(strings.Join(terminal.Lines(), "\n"))
	time.Sleep(time.Second)
	t.Log(strings.Join(terminal.Lines(), "\n"))
	if n := len(w.mock.Requests()); n != requests {
		t.Errorf("%d requests were made by commands", n-requests)
	}
}

// The beta itself has no calls between the halves. The half says so in its log, and the terminal works.
func TestTerminalOfTheBeta(t *testing.T) {
	w := newTerminalWorld(t)
	w.options.TerminalPlugins = []string{filepath.Join(filepath.Dir(product.Shim), "tui.js")}
	w.start()
	s := w.session(large)
	w.say(s, "hello", mockllm.Say("Hi."))
	terminal := w.terminal(s)
	t.Log(terminal.wait("Hi.", "commands"))
	logs, err := filepath.Glob(filepath.Join(w.user.Home.Temp, "*", "opencode-tui-*.log"))
	check(t, err)
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	log, err := os.ReadFile(logs[0])
	check(t, err)
	if !strings.Contains(string(log), "This version of OpenCode shows no commands, notices and status line of magicctx.") {
		t.Errorf("the log is\n%s", log)
	}
}
