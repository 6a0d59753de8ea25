package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

type screen struct {
	*download
	*pitest.Terminal
	client *opencodetest.Client
}

const window = 30_000

func (d *download) screen(size pitest.Size, modelName string) *screen {
	d.t.Helper()
	cmd, client, err := opencodetest.Screen(d.ctx, opencodetest.Options{
		Repo: product.Repo, Home: d.user.Home, Project: d.project, MockURL: d.mock.URL(), Inline: true, ModelName: modelName,
		Limits: opencodetest.Limits{Context: window, Output: 2000}, Config: map[string]any{"snapshot": false},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	terminal, err := pitest.OnTerminal(d.ctx, cmd, size)
	if errors.Is(err, pitest.ErrNoTerminal) {
		d.t.Skip(err)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	s := &screen{d, terminal, client}
	d.t.Cleanup(func() {
		client.Close()
		if err := terminal.Stop(); err != nil {
			d.t.Error(err)
		}
		d.stopHost()
	})
	return s
}

func (s *screen) open(title string) string {
	s.t.Helper()
	session := s.create(title)
	s.show(session, "magicctx: no request yet")
	return session
}

func (s *screen) create(title string) string {
	s.t.Helper()
	var created opencodetest.Session
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second) // while OpenCode starts, it takes requests that it does not answer
		var err error
		created, err = s.client.CreateSession(ctx, opencodetest.NewSession{Title: title})
		cancel()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%v\n%s", err, strings.Join(s.Lines(), "\n"))
		}
	}
	return created.ID
}

// While OpenCode is still drawing its screen, it ignores the request to show a session. So the method `show` repeats
// the request.
func (s *screen) show(session string, words ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if err := s.client.Call(s.ctx, http.MethodPost, "/tui/select-session", map[string]string{"sessionID": session}, nil); err != nil {
			s.t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
		_, err := s.Await(ctx, words...)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

// say sends a prompt, and returns how full the window is after it, for example " 24% ".
func (s *screen) say(session, text string) string {
	s.t.Helper()
	if _, err := s.client.Prompt(s.ctx, session, opencodetest.Prompt{Text: text}); err != nil {
		s.t.Fatal(err)
	}
	requests := s.requests(session)
	usage := requests[len(requests)-1].Reported
	return fmt.Sprintf(" %.0f%% ", 100*float64(usage.Prompt())/window)
}

func (s *screen) wait(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	lines, err := s.Await(ctx, words...)
	if err != nil {
		status, _ := s.user.Host(s.ctx, "status") // it may also fail, and is only for the log
		s.t.Fatalf("%v\n%s", err, status)
	}
	return strings.Join(lines, "\n")
}

// The method `task` runs a task of this repository, for example "install", with the home directory of the test's user.
func (d *download) task(args ...string) {
	d.t.Helper()
	cache, err := exec.CommandContext(d.ctx, "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		d.t.Fatal(err)
	}
	dirs := strings.Fields(string(cache))
	cmd := exec.CommandContext(d.ctx, "go", append([]string{"tool", "-modfile=tools/go.mod", "task"}, args...)...)
	cmd.Dir, cmd.Env = product.Repo, append(d.env(), "GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1])
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("task %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// After the installation, OpenCode 1 must show the panel: on a wide screen, the whole panel in the sidebar; on a narrow
// screen, one line. The values must be those of the shown session, also after a restart of the host.
func TestPanelOnTheScreen(t *testing.T) {
	suite.Needs(t)
	suite.OnlyWithAll(t, "the tests of the shim play the panel")
	for _, size := range []pitest.Size{{Columns: 140, Rows: 40}, {Columns: 120, Rows: 40}, {Columns: 80, Rows: 24}} {
		t.Run(fmt.Sprintf("%dx%d", size.Columns, size.Rows), func(t *testing.T) {
			d := newDownload(t)
			if err := os.WriteFile(filepath.Join(d.project, "notes.txt"), []byte(strings.Repeat("the answer is 41\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			if size.Columns > 120 {
				d.task("install", "--", "opencode", "--yes")
			} else {
				d.command("install", "opencode", "--yes")
			}
			name := "Claude Mock"
			if size.Columns > 80 {
				name += " (with a longer name)"
			}
			s := d.screen(size, name)
			first := s.open("\x1b]0;red\x07\x1b[31m $(touch pwned) `touch pwned`\nsecond line")
			s.play(first, mockllm.Say("Hello."), s.readNotes("toolu_panel"), mockllm.Say("It says 41."), mockllm.Say("Still 41."))
			small := s.say(first, "Hello?")
			s.wait(small)
			full := s.say(first, "What is the answer?")
			if small == full {
				t.Fatalf("both prompts fill the window to %s", full)
			}
			measured := map[int]string{140: "of 30k tokens (" + strings.TrimSpace(full) + ")", 120: full + "of 30k · spent $", 80: full + "· $"}
			screen := s.wait(measured[size.Columns], "/ctx-status")
			t.Logf("the screen:\n%s", screen)
			for _, words := range []string{"system prompt", "tool definitions", "conversation", "tool calls", "cache hits", "last bust   none yet", "spent   "} {
				if isWide := size.Columns > 120; strings.Contains(screen, words) != isWide {
					t.Errorf("the screen shows %q: %t", words, !isWide)
				}
			}

			// The line must not take the room of OpenCode's own names, which OpenCode would break into columns of letters.
			names := "Build · " + name + " Mock Anthropic"
			if !strings.Contains(screen, names) {
				t.Error("OpenCode's own names are broken")
			}
			if size.Columns > 80 {
				if err := s.Resize(pitest.Size{Columns: 80, Rows: size.Rows}); err != nil {
					t.Fatal(err)
				}
				t.Logf("in 80 columns:\n%s", s.wait(names+" ", full+"· $"))
				if err := s.Resize(size); err != nil {
					t.Fatal(err)
				}
			}

			s.stopHost()
			again := s.say(first, "Sure?")
			s.wait(again)

			second := s.open("The other one")
			s.play(second, mockllm.Say("I am the other one."))
			other := s.say(second, "Who are you?")
			t.Logf("another session:\n%s", s.wait(other, "I am the other one."))
			s.show(first, again, "Still 41.")
			if _, err := os.Stat(filepath.Join(d.project, "pwned")); err == nil {
				t.Error("a title was executed")
			}
		})
	}
}

// The commands in OpenCode's palette must answer in dialogs, which lead from page to page without a turn of the model.
func TestPaletteOnTheScreen(t *testing.T) {
	suite.Needs(t)
	suite.OnlyWithAll(t, "the tests of the shim run the commands")
	d := newDownload(t)
	if err := os.WriteFile(filepath.Join(d.project, "notes.txt"), []byte(strings.Repeat("the answer is 41\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.command("install", "opencode", "--yes")
	s := d.screen(pitest.Size{Columns: 80, Rows: 24}, "")
	session := s.open("Commands")
	s.play(session, s.readNotes("toolu_palette"), mockllm.Say("It says 41."), mockllm.Say("Hello."))
	s.say(session, "What is the answer?")
	s.wait(s.say(session, "Hello?"), "Hello.")
	d.command("memory", "add", "--category", "CONSTRAINTS", "The answer is 41, and "+strings.Repeat("no other number will do, ", 20)+"ever.")
	requests := len(s.requests(session))

	s.choose("Show the whole status", "esc closes")
	t.Logf("the status:\n%s", s.wait("In it: system prompt ", "Next bust: ", "esc closes"))
	s.press("\x1b")
	menu := func(words ...string) {
		t.Helper()
		s.choose("magicctx: status", "What was taken out of the prompt", "Memories of this project")
		t.Logf("the menu:\n%s", strings.Join(s.Lines(), "\n"))
		for _, step := range words {
			keys, wanted, _ := strings.Cut(step, "|")
			s.press(keys)
			t.Logf("after %q:\n%s", keys, s.wait(strings.Split(wanted, "|")...))
		}
		s.press("\x1b")
	}
	menu("memories|Memories of this", "\r|1. The answer is 41", "\r|enter goes on", "\r|Edit|Archive", "\r|The fact, in one sentence",
		" Really.\r|It is changed.", "\r|Archive", "archive|Archive", "\r|No model sees it any longer", "\r|It is archived")
	menu("search|Search earlier", "\r|Words to look for", "answer\r|Search for other words")
	menu("taken|taken out", "\r|Dropped: ")
	menu("again|Make all summaries", "\r|The historian reads all summarised", "\r|Nothing is summarised")
	if n := len(s.requests(session)); n != requests {
		t.Errorf("the commands made %d requests", n-requests)
	}
}

func (s *screen) choose(title string, words ...string) {
	s.t.Helper()
	s.press("\x10") // ctrl-p opens the palette
	s.wait("Search")
	s.press(title)
	s.wait(title)
	s.press("\r")
	s.wait(words...)
}

// OpenCode needs a moment to move the focus.
func (s *screen) press(keys string) {
	s.t.Helper()
	if err := s.Type(keys); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
}
