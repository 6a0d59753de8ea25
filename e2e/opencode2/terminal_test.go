package opencode2_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// The fake OpenCode has no terminal, so a test of the terminal needs the beta. If there is no beta, the test is
// skipped.
func newTerminalWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, stage.WithoutHistorian)
	if w.options.Source == "" {
		t.Skipf("%s does not name the source of an OpenCode 2; see docs/environment.md", opencode2.Variable)
	}
	return w
}

// The shim uses some functions that a release of OpenCode 2 offers, but the beta does not. likeARelease adds them to
// the beta. Everything else is real: the beta's own toasts, dialogs, keymap and renderer draw the screen.
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

type screen struct {
	*world
	*pitest.Terminal
}

func (w *world) terminal(s *opencode2.Session, size pitest.Size) screen {
	w.t.Helper()
	t, err := w.server.Terminal(w.ctx, s, size)
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

func (s screen) wait(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	lines, err := s.Await(ctx, words...)
	check(s.t, err)
	return strings.Join(lines, "\n")
}

// The user must see the status line and the toasts. The commands must work without a turn of the model.
func TestTerminal(t *testing.T) {
	w := newTerminalWorld(t)
	w.likeARelease()
	w.start()
	s := w.session(small)
	w.say(s, "hello", mockllm.Say("Hi."))
	terminal := w.terminal(s, pitest.UsualSize)
	terminal.wait("Hi.", "\nmagicctx ", "% of 30k")

	toast := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(w.ctx, 2*time.Minute)
		defer cancel()
		_, err := terminal.Await(ctx, "┃  magicctx ", "k → ", " dropped")
		toast <- err
	}()
	for i := 0; w.status(s).Busts == 0; i++ {
		if i == 12 {
			t.Fatal("no bust")
		}
		id := string(rune('a' + i))
		w.say(s, "step "+id, calls(mockllm.Text("I look."), read("c"+id, "long.txt")), mockllm.Say("Seen "+id+"."))
	}
	check(t, <-toast)
	terminal.wait(" taken out", "/ctx-status")

	requests := len(w.mock.Requests())
	said, err := w.user.Host(w.ctx, "status", s.ID)
	check(t, err)
	terminal.run("/ctx-status", "Next bust: ", "esc closes")
	time.Sleep(10 * time.Second) // a toast would be gone
	screen := terminal.wait("Next bust: ")
	for range 5 { // so that each fact is once whole on the screen
		for range 4 {
			check(t, terminal.Type("j"))
			time.Sleep(50 * time.Millisecond)
		}
		screen += "\n" + terminal.wait("esc closes")
	}
	terminal.wait("Last prompt: ")
	t.Logf("the dialog, before and after the keys:\n%s\nthe command of the host:\n%s", screen, said)
	facts := factsOf(said)
	if len(facts) < 9 {
		t.Errorf("only %d facts are compared: %q", len(facts), facts)
	}
	for _, fact := range facts {
		if !strings.Contains(joined(screen), fact) {
			t.Errorf("the dialog lacks %q", fact)
		}
	}
	check(t, terminal.Type("\x1b"))
	time.Sleep(time.Second)
	terminal.run("/ctx-flush", "nothing to free now")
	terminal.run("/ctx-wrapup", "historian is switched off")
	terminal.run("/ctx-recomp cancel", "No recomp is under way.")
	terminal.run("/ctx-menu", "Memories of this project", "What was taken out of the prompt")
	for _, step := range [][]string{{"taken", "What was taken"}, {"\r", "Dropped: ", "Bring back §"}, {"\r", "You keep 1 piece.", "Let go of §"}, {"\x1b"}} {
		check(t, terminal.Type(step[0]))
		time.Sleep(time.Second)
		t.Logf("after %q:\n%s", step[0], terminal.wait(step[1:]...))
	}
	if n := len(w.mock.Requests()); n != requests {
		t.Errorf("the commands made %d requests", n-requests)
	}
}

// If OpenCode has at least 121 columns, it shows a sidebar. The panel in the sidebar must follow the shown session.
// It must still do so after a restart of the host.
func TestPanel(t *testing.T) {
	w := newTerminalWorld(t)
	w.likeARelease()
	w.start()
	s := w.session(small)
	w.say(s, "hello", mockllm.Say("Hi."))
	terminal := w.terminal(s, pitest.Size{Columns: 140, Rows: 40})
	terminal.wait("Hi.", "magicctx", "system prompt", "tool definitions", "conversation", "last bust   none yet")
	w.say(s, "read", calls(mockllm.Text("I look."), read("ca", "long.txt")), mockllm.Say("Seen."))
	before := w.panel(s).Size
	t.Logf("the screen:\n%s", terminal.wait("tool calls", "cache hits", before))
	check(t, w.user.StopHost(w.ctx))
	w.say(s, "again"+strings.Repeat(" and more", 700), mockllm.Say("Again."))
	after := w.panel(s).Size
	if after == before {
		t.Fatalf("the prompt has still %s", after)
	}
	t.Logf("after a restart of the host:\n%s", terminal.wait(after))

	other := w.session(small)
	w.say(other, "who are you?", mockllm.Say("I am the other one."))
	second := w.panel(other).Size
	if second == after {
		t.Fatalf("both prompts have %s", second)
	}
	check(t, s.Rename(w.ctx, "The first"))
	check(t, other.Rename(w.ctx, "The second"))
	terminal.open("The second")
	screen := terminal.wait("I am the other one.", second)
	t.Logf("another session:\n%s", screen)
	if strings.Contains(screen, after) {
		t.Errorf("the panel still shows %s", after)
	}
	terminal.open("The first")
	terminal.wait("Again.", after)
}

// open opens a session from OpenCode's list of sessions.
func (s screen) open(title string) {
	s.t.Helper()
	check(s.t, s.Type("/sessions"))
	s.wait("┃  /sessions", "Switch session") // the completion, which the return key accepts
	check(s.t, s.Type("\r"))
	s.wait("Sessions", "The first", "The second")
	check(s.t, s.Type(title))
	time.Sleep(time.Second) // OpenCode searches with a delay
	s.t.Logf("the list:\n%s", s.wait(title))
	check(s.t, s.Type("\r"))
}

func (w *world) panel(s *opencode2.Session) *schema.Panel {
	w.t.Helper()
	raw, err := w.user.Host(w.ctx, "status", s.ID, "--json")
	check(w.t, err)
	var st schema.SessionStatus
	check(w.t, json.Unmarshal(raw, &st))
	if st.Panel == nil {
		w.t.Fatalf("no panel: %s", raw)
	}
	return st.Panel
}

// run enters a command. After its name, run types a blank. Otherwise, OpenCode would offer a completion, and the
// return key would accept it.
func (s screen) run(command string, words ...string) {
	s.t.Helper()
	check(s.t, s.Type(command+" "))
	s.wait("┃  " + command)
	check(s.t, s.Type("\r"))
	s.wait(words...)
}

// factsOf returns the facts that `magicctx-host status` prints, for example "busts: 1 in 17 requests". It skips facts
// that contain an age.
func factsOf(printed []byte) (facts []string) {
	for _, m := range regexp.MustCompile(`(?m)^ ([a-z][a-z ]{10}) (\S.*(?:\n {13}\S.*)*)`).FindAllStringSubmatch(string(printed), -1) {
		if text := joined(m[2]); !strings.Contains(text, " ago") {
			facts = append(facts, strings.ToUpper(m[1][:1])+strings.TrimSpace(m[1][1:])+": "+text)
		}
	}
	return facts
}

// joined removes line breaks, repeated blanks and the scroll bar of a dialog.
func joined(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("█▀▄", r) }), " ")
}

// In the beta, the plugin's code in the terminal cannot call the plugin's code in the server. The terminal must still
// work, and the log must contain the reason.
func TestTerminalOfTheBeta(t *testing.T) {
	w := newTerminalWorld(t)
	w.options.TerminalPlugins = []string{filepath.Join(filepath.Dir(product.Shim), "tui.js")}
	w.start()
	s := w.session(large)
	w.say(s, "hello", mockllm.Say("Hi."))
	terminal := w.terminal(s, pitest.UsualSize)
	terminal.wait("Hi.", "commands")
	logs, err := filepath.Glob(filepath.Join(w.user.Home.Temp, "*", "opencode-tui-*.log"))
	check(t, err)
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	log, err := os.ReadFile(logs[0])
	check(t, err)
	if !strings.Contains(string(log), "This version of OpenCode shows no commands, notices and panel of magicctx.") {
		t.Errorf("the log is\n%s", log)
	}
}
