package indexing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/index"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type world struct {
	t        *testing.T
	home     string
	x        *Indexer
	problems []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	db, err := index.Open(t.Context(), filepath.Join(home, "data"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return &world{t: t, home: home, x: &Indexer{
		Index: db, Identify: func(_ context.Context, dir string) (string, error) { return project.OfDirectory(dir), nil },
		Reader: rawhistory.Reader{Env: func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		}},
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) run() Progress {
	w.t.Helper()
	w.problems = nil
	p, err := w.x.Run(w.t.Context(), func(Progress) {}, func(what string, err error) { w.problems = append(w.problems, what+": "+err.Error()) })
	must(w.t, err)
	return p
}

// The chunks have the form "session 3 agent text: …".
func (w *world) find(term string) (all []string) {
	w.t.Helper()
	must(w.t, w.x.Index.View(w.t.Context(), func(v *index.View) error {
		return v.Find(`"`+term+`"`, index.Scope{}, 100, func(h index.Hit) {
			status := ""
			if h.Status != nil {
				status = fmt.Sprintf(" (%d)", *h.Status)
			}
			all = append(all, fmt.Sprintf("%s %d %s %s%s: %s", h.Session.ID, h.Last, h.Role, h.Kind, status, h.Text))
		})
	}))
	slices.Sort(all)
	return all
}

func (w *world) want(term string, want ...string) {
	w.t.Helper()
	if got := w.find(term); !slices.Equal(got, want) {
		w.t.Errorf("%s:\n got %q\nwant %q", term, got, want)
	}
}

func text(s string) string { return string(json.Quote(s)) }

func part(id, members string) string { return fmt.Sprintf(`{"id":%q,%s}`, id, members) }

func ocMessage(id, role string, created int, parts ...string) json.Value {
	return json.Value(fmt.Sprintf(`{"info":{"id":%q,"sessionID":"s","role":%q,"finish":"stop","time":{"created":%d}},"parts":[%s]}`, id, role, created, strings.Join(parts, ",")))
}

func said(id, role string, created int, s string) json.Value {
	return ocMessage(id, role, created, part("p"+id, `"type":"text","text":`+text(s)))
}

func call(id, tool, input, output, metadata string) string {
	return part(id, fmt.Sprintf(`"type":"tool","callID":"c","tool":%q,"state":{"status":"completed","input":%s,"output":%s,"metadata":%s,"time":{"start":1}}`, tool, input, text(output), metadata))
}

func TestSessionsOfOpenCodeAreIndexed(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	oc.Add("ses_1", []json.Value{
		said("m1", "user", 1, "Why does zebra fail?\n<system-reminder>hidden giraffe</system-reminder>"),
		ocMessage("m2", "assistant", 2,
			part("p1", `"type":"reasoning","text":"thinking of giraffes"`),
			part("p2", `"type":"text","text":"I look at the test."`),
			call("p3", "bash", `{"command":"go test ./zebra"}`, "ok 1\n--- FAIL: TestStripes\nmore", `{"exit":1}`),
			call("p4", "read", `{"filePath":"/p/stripes.go"}`, "content with giraffe", `{}`),
			call("p5", "edit", `{"filePath":"/p/stripes.go"}`, "done", `{}`),
			call("p6", "bash", `{"command":"git status"}`, "error: not one of ours", `{"exit":0}`)),
		said("m3", "user", 3, "thanks"),
		said("m4", "assistant", 4, "The token is gh"+"p_q7Zt4Xw9Lm2Kc8Vb5Rn1Hd6Jf3Gs0PyTeUaW, \x1b[31mred\x1b[0m"),
	})
	if p := w.run(); p != (Progress{Sessions: 1, Of: 1, Messages: 4}) || len(w.problems) > 0 {
		t.Errorf("%+v, %q", p, w.problems)
	}
	w.want("zebra", "ses_1 1 user text: Why does zebra fail?", "ses_1 2 agent text: I look at the test.", "ses_1 2 tool command (1): go test ./zebra", "ses_1 2 tool error: --- FAIL: TestStripes")
	w.want("strip", "ses_1 2 tool error: --- FAIL: TestStripes", "ses_1 2 tool read: /p/stripes.go", "ses_1 2 tool write: /p/stripes.go")
	w.want("giraff")
	w.want("status", "ses_1 2 tool command (0): git status")
	w.want("red", "ses_1 4 agent text: The token is [redacted GitHub token], red")
	if p := w.run(); p.Skipped != 1 || p.Messages != 0 {
		t.Errorf("a second run: %+v", p)
	}
}

func TestSessionsOfPiAreIndexed(t *testing.T) {
	w := newWorld(t)
	p := rawhistorytest.NewPi(t, w.home, "pi_1")
	p.Message(json.Value(`{"role":"user","content":[{"type":"text","text":"look at the zebra"}],"timestamp":1}`))
	p.Message(json.Value(`{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make zebra"}}],"provider":"p","model":"m","stopReason":"toolUse","timestamp":2}`))
	p.Message(json.Value(`{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"make: *** Error\n\nCommand exited with code 2"}],"isError":true,"timestamp":3}`))
	p.Message(json.Value(`{"role":"bashExecution","command":"ls zebra","output":"x","exitCode":0,"timestamp":4}`))
	w.run()
	w.want("zebra", "pi_1 1 user text: look at the zebra", "pi_1 2 tool command (2): make zebra", "pi_1 2 tool error: make: *** Error", "pi_1 3 user command (0): ls zebra")
}

// In the fixtures, each text that the index must contain has the word "zebra", and each other text has the word
// "giraffe".
func TestSessionLogsAreIndexed(t *testing.T) {
	w := newWorld(t)
	for from, to := range map[string]string{
		"claude-code": ".claude/projects/-p/5e55.jsonl", "codex": ".codex/sessions/2026/11/20/rollout-1-c0de.jsonl",
		"codex-2025": ".codex/archived_sessions/rollout-0-01d.jsonl",
	} {
		log, err := os.ReadFile("../rawhistory/testdata/" + from + ".jsonl")
		must(t, err)
		rawhistorytest.WriteLog(t, w.home, to, string(log))
	}
	if p := w.run(); p != (Progress{Sessions: 3, Of: 3, Messages: 36}) || len(w.problems) > 0 {
		t.Errorf("%+v, %q", p, w.problems)
	}
	w.want("zebra",
		"01d 2 user text: Count the zebras.", "01d 3 tool command (0): wc zebra", "01d 4 agent text: Three zebras.",
		"5e55 12 user text: Explain this zebra.", "5e55 13 user text: /review the zebra's head", "5e55 15 user command: git log zebra",
		"5e55 20 user text: The zebra works. 🦓", "5e55 4 user text: Why does the zebra fail?", "5e55 5 agent text: I look at the stripes.",
		"5e55 5 tool command (1): go test ./zebra", "5e55 5 tool error: --- FAIL: TestZebra", "5e55 6 agent text: I edit.", "5e55 6 tool command: make zebra",
		"5e55 6 tool write: /p/zebra.ipynb", "5e55 7 user text: Mind the tail of the zebra, too.", "5e55 9 tool command (0): ls zebra",
		"c0de 10 user text: Mind the tail of the zebra, too.", "c0de 11 user text: Explain this zebra.", "c0de 2 user text: Why does the zebra fail?",
		"c0de 3 agent text: I look at the stripes.", "c0de 3 tool command (0): ls zebra", "c0de 3 tool command (1): go test ./zebra",
		"c0de 3 tool error: --- FAIL: TestZebra", "c0de 5 tool error: apply_patch verification failed: no zebra", "c0de 6 tool command: make zebra",
		"c0de 7 agent text: The zebra works.", "c0de 8 user command (128): git log zebra")
	w.want("giraff")
	w.want("strip", "5e55 5 agent text: I look at the stripes.", "5e55 5 tool read: /p/stripes.go", "5e55 6 tool write: /p/stripes.go", "c0de 3 agent text: I look at the stripes.", "c0de 4 tool write: stripes.go")
	if p := w.run(); p.Skipped != 3 {
		t.Errorf("a second run: %+v", p)
	}
}

// The first run reads an answer that is still growing. The second run must read only new messages, and replace this
// answer with its final text.
func TestRunReadsOnlyWhatIsNew(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	var all []json.Value
	for i := range 50 {
		all = append(all, said(fmt.Sprintf("m%02d", i), "user", i+1, fmt.Sprint("zebra ", i)))
	}
	oc.Add("ses_1", append(all, said("m50", "assistant", 51, "partial")))
	if p := w.run(); p.Messages != 51 {
		t.Errorf("%+v", p)
	}
	oc.Exec(`UPDATE part SET data = replace(data, 'partial', 'whole zebra'); UPDATE session SET time_updated = 99`)
	oc.AddRow("ses_1", "m51", 52, `{"role":"user"}`)
	if p := w.run(); p.Messages != again+1 {
		t.Errorf("%+v", p)
	}
	w.want("partial")
	w.want("whol", "ses_1 51 agent text: whole zebra")
	if got := w.find("zebra"); len(got) != 51 {
		t.Errorf("%d: %q", len(got), got)
	}
}

func TestRewrittenSessionIsReadAnew(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	var all []json.Value
	for i := range 20 {
		all = append(all, said(fmt.Sprintf("m%02d", i), "user", i+1, fmt.Sprint("zebra ", i)))
	}
	oc.Add("ses_1", all)
	w.run()
	oc.Exec(`DELETE FROM message WHERE id >= 'm10'; UPDATE session SET time_updated = 99`)
	w.run()
	if got := w.find("zebra"); len(got) != 10 {
		t.Errorf("%d: %q", len(got), got)
	}
	oc.Exec(`DELETE FROM message WHERE id = 'm03'; UPDATE session SET time_updated = 100`)
	w.run()
	w.want("9", "ses_1 9 user text: zebra 9")
	oc.Exec(`DELETE FROM message; DELETE FROM session`)
	w.run()
	w.want("zebra")
}

// A crash, another program or a stranger may leave files that cannot be read. The result must name these files, and all
// others must be indexed.
func TestBadSourcesAreNamedAndTheRestIsIndexed(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	oc.Add("ses_1", []json.Value{said("m1", "user", 1, "zebra"), said("m2", "user", 2, "zebra\x00 \x012"), said("m3", "user", 3, "zebra 3")})
	oc.AddRow("ses_1", "m4", 4, `{"role":"us`)
	p := rawhistorytest.NewPi(t, w.home, "pi_1")
	p.Message(json.Value(`{"role":"user","content":"pi zebra","timestamp":9e30}`))
	p.Append(`{"type":"message","id":"00000009","parentId":"00000001","message":{"role":"user","content":"cut zeb`)
	dir := filepath.Dir(p.Path)
	must(t, os.WriteFile(filepath.Join(dir, "binary.jsonl"), []byte("\x7fELF\x00\x01\x02"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty.jsonl"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(filepath.Dir(oc.Path), "opencode-dev.db"), []byte(strings.Repeat("no database ", 100)), 0o600))
	w.run()
	w.want("zebra", "pi_1 1 user text: pi zebra", "ses_1 1 user text: zebra", "ses_1 2 user text: zebra? ?2", "ses_1 3 user text: zebra 3")
	problems := strings.Join(w.problems, "\n")
	for _, name := range []string{"binary.jsonl", "empty.jsonl", "opencode-dev.db"} {
		if !strings.Contains(problems, name) {
			t.Errorf("%s is not named in\n%s", name, problems)
		}
	}
}

func TestCancelledRunGoesOnLater(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	for s := range 5 {
		oc.Add(fmt.Sprint("ses_", s), []json.Value{said(fmt.Sprint("m", s), "user", 1, "zebra")})
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.x.Run(ctx, func(p Progress) {
		if p.Sessions == 2 {
			cancel()
		}
	}, func(what string, err error) { t.Error(what, err) })
	if !errors.Is(err, context.Canceled) || len(w.find("zebra")) != 2 {
		t.Error(err, w.find("zebra"))
	}
	if p := w.run(); p.Skipped != 2 || p.Messages != 3 {
		t.Errorf("%+v", p)
	}
}

// A session of a git project must keep its project even after the project's directory was deleted.
func TestSessionKeepsItsProject(t *testing.T) {
	w := newWorld(t)
	oc := rawhistorytest.NewOpenCode(t, w.home)
	oc.Add("ses_1", []json.Value{said("m1", "user", 1, "zebra")})
	w.x.Identify = func(context.Context, string) (string, error) { return "git:a", nil }
	w.run()
	w.x.projects = nil
	w.x.Identify = func(context.Context, string) (string, error) { return "", errors.New("gone") }
	oc.Exec(`UPDATE session SET time_updated = 99`)
	w.run()
	must(t, w.x.Index.View(t.Context(), func(v *index.View) error {
		return v.Find(`"zebra"`, index.Scope{}, 9, func(h index.Hit) {
			if h.Session.Project != "git:a" {
				t.Errorf("%+v", h.Session)
			}
		})
	}))
}

// OpenCode 2 keeps its sessions in other tables of the same file. If it has copied a session from version 1, the
// session is indexed only once.
func TestSessionsOfOpenCode2AreIndexed(t *testing.T) {
	for _, isBeta := range []bool{false, true} {
		w := newWorld(t)
		var oc *rawhistorytest.OpenCode
		if isBeta {
			oc = rawhistorytest.NewOpenCode2(t, w.home)
			oc.Rename2ToBeta()
		} else {
			oc = rawhistorytest.NewOpenCode(t, w.home)
			oc.Add("ses_1", []json.Value{said("m1", "user", 1, "zebra one")})
			oc.Add("ses_old", []json.Value{said("m9", "user", 1, "zebra of version 1")})
			oc.UpgradeToOpenCode2()
			oc.AddRow2("ses_1", "m1", "user", 1, `{"text":"zebra one"}`)
		}
		oc.AddRow2("ses_1", "m2", "user", 2, `{"text":"zebra two","time":{"created":2}}`)
		oc.AddRow2("ses_1", "m3", "assistant", 3, `{"content":[{"type":"text","text":"zebra three"}],"time":{"created":3}}`)
		w.run()
		if len(w.problems) > 0 {
			t.Errorf("%q", w.problems)
		}
		if isBeta {
			w.want("zebra", "ses_1 1 user text: zebra two", "ses_1 2 agent text: zebra three")
			continue
		}
		w.want("zebra", "ses_1 1 user text: zebra one", "ses_1 2 user text: zebra two", "ses_1 3 agent text: zebra three", "ses_old 1 user text: zebra of version 1")
	}
}

// The Keeper rests for twenty times as long as it works. It reads a long session in slices, and already rests between
// them. These rests must not count as work, or they would be multiplied by twenty as well.
func TestRestsAreNoWork(t *testing.T) {
	if pause := pauseAfter(21*time.Second, 20*time.Second); pause != 0 {
		t.Errorf("after one second of work and all of its rest, the keeper pauses for %v more", pause)
	}
	if pause := pauseAfter(time.Second, 0); pause != KeepShare*time.Second {
		t.Errorf("after one second of work without a rest, the keeper pauses for %v", pause)
	}
}
