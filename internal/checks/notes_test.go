package checks

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func TestConditionVectors(t *testing.T) {
	for text, want := range map[string]chronicle.Condition{
		"file: docs/api.md":            {Kind: chronicle.ForFile, Path: "docs/api.md"},
		"file:docs//api.md":            {Kind: chronicle.ForFile, Path: "docs/api.md"},
		"no file: go.work":             {Kind: chronicle.ForNoFile, Path: "go.work"},
		"merged: feature/x":            {Kind: chronicle.ForMerge, Branch: "feature/x"},
		"merged: feature/x into dev":   {Kind: chronicle.ForMerge, Branch: "feature/x", Into: "dev"},
		"date: 2027-01-31":             {Kind: chronicle.ForDate, Date: "2027-01-31"},
		"date: 2027-01-31 15:00":       {Kind: chronicle.ForDate, Date: "2027-01-31 15:00"},
		"exit 0: go test ./...":        {Kind: chronicle.ForExit, CommandLine: "go test ./..."},
		"exit 2: make x: y":            {Kind: chronicle.ForExit, CommandLine: "make x: y", Status: 2},
		"when CI is green":             {},
		"files: all moved":             {},
		"the date: soon":               {},
		"when the file: x is there":    {},
		"exits: every command is done": {},
	} {
		got, ok, err := chronicle.ParseCondition(text)
		if err != nil || got != want || ok != (want.Kind != "") {
			t.Errorf("%s: %+v, %t, %v", text, got, ok, err)
		}
	}
}

// A model writes the conditions of notes, and it may copy them from a hostile web page or file. So dangerous conditions
// are refused, for example a path outside the project or an option of git.
func TestHostileConditionsAreRefused(t *testing.T) {
	for _, text := range []string{
		"file:", "file: /etc/passwd", "file: ../x", "file: a/../../x", "file: a\x00b", "no file: ..", "file: a\nb",
		"merged: --output=/tmp/x", "merged: a..b", "merged: a*", "merged: x into --all", "merged: x into x", "merged: x into ", "merged: $(id)", "merged: a b", "merged: @{-1}",
		"date: tomorrow", "date: 2027-02-30", "exit: go test", "exit x: go test", "exit -1: go test", "exit 256: x", "exit 0:", "exit 0: a\nb",
		"file: " + strings.Repeat("a", 300),
	} {
		if c, ok, err := chronicle.ParseCondition(text); err == nil || ok {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

const identity = "git:1"

type bench struct {
	*Tester
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	data := t.TempDir()
	s := storetest.Open(t, data)
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "site"), Tester: New(Options{
		Store: s, Guard: store.NewGuard(slog.New(slog.DiscardHandler), time.Second), Clock: s.Clock, Log: slog.New(slog.DiscardHandler), IndexDir: data,
	})}
	must(t, os.MkdirAll(b.dir, 0o700))
	return b
}

func (b *bench) git(args ...string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "git", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (b *bench) write(conditions ...string) (refused int) {
	b.t.Helper()
	now := b.Clock.Now()
	must(b.t, memories.Edit(b.t.Context(), b.IndexDir, now, func(e *memories.Editor) error {
		for _, c := range conditions {
			_, err := e.WriteNote(chronicle.Note{Harness: "opencode", Session: "s", Project: identity, Content: "x", Condition: c})
			if _, isRefused := errors.AsType[memories.Refusal](err); isRefused {
				refused++
			} else if err != nil {
				return err
			}
		}
		return nil
	}))
	return refused
}

func (b *bench) test() map[int64]string {
	b.t.Helper()
	b.Clock.(*clock.Manual).Advance(10 * time.Minute)
	must(b.t, b.TestNotes(b.t.Context(), b.dir, identity))
	ready := map[int64]string{}
	must(b.t, memories.View(b.t.Context(), b.IndexDir, func(r *memories.Reader) error {
		all, err := r.AllNotes(true)
		for _, n := range all {
			if n.Status == chronicle.NoteIsReady {
				ready[n.ID] = n.Reason
			}
		}
		return err
	}))
	return ready
}

func (b *bench) want(when string, want map[int64]string) {
	b.t.Helper()
	if got := b.test(); fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: %v, want %v", when, got, want)
	}
}

func TestNoteIsReadyWhenAFileComesOrGoes(t *testing.T) {
	b := newBench(t)
	write(t, filepath.Join(b.dir, "go.work"), "x")
	b.write("file: docs/api.md", "no file: go.work", "when CI is green")
	b.want("at first", map[int64]string{})
	write(t, filepath.Join(b.dir, "docs", "api.md"), "")
	must(t, os.Remove(filepath.Join(b.dir, "go.work")))
	b.want("afterwards", map[int64]string{1: "docs/api.md exists", 2: "go.work is gone"})
	must(t, os.Remove(filepath.Join(b.dir, "docs", "api.md")))
	b.want("it stays ready", map[int64]string{1: "docs/api.md exists", 2: "go.work is gone"})
}

func TestNoteIsReadyWhenADateHasCome(t *testing.T) {
	b := newBench(t)
	at := time.UnixMilli(b.Clock.Now()).Add(24 * time.Hour).Format("2006-01-02 15:04")
	b.write("date: "+at, "date: 2999-01-01")
	b.want("too early", map[int64]string{})
	b.Clock.(*clock.Manual).Advance(24 * time.Hour)
	b.want("a day later", map[int64]string{1: at + " has come"})
}

// A branch counts as merged if the main branch contains its newest commit, even if the branch itself was deleted. A
// branch without a commit of its own does not count as merged.
func TestNoteIsReadyWhenABranchWasMerged(t *testing.T) {
	b := newBench(t)
	b.git("init", "-q", "-b", "main", ".")
	b.git("commit", "-q", "--allow-empty", "-m", "first")
	b.git("branch", "feature/x")
	b.git("branch", "feature/x2")
	b.write("merged: feature/x", "merged: feature/x into dev", "merged: feature", "merged: none", "merged: feature/x2")
	b.want("no commit yet", map[int64]string{})
	b.git("checkout", "-q", "feature/x")
	b.git("commit", "-q", "--allow-empty", "-m", "second")
	b.want("not merged", map[int64]string{})
	b.git("checkout", "-q", "main")
	b.git("merge", "-q", "--no-ff", "-m", "merge", "feature/x")
	b.git("branch", "-d", "feature/x")
	b.want("merged and deleted", map[int64]string{1: "feature/x is merged"})
	b.git("branch", "dev")
	b.want("into another one", map[int64]string{1: "feature/x is merged", 2: "feature/x is merged"})
}

// A squashed branch also counts as merged: one commit of the main branch has all changes of the branch. If a commit has
// only some of the changes, the branch does not count as merged.
func TestNoteIsReadyWhenABranchWasSquashed(t *testing.T) {
	b := newBench(t)
	b.git("init", "-q", "-b", "main", ".")
	commit := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
		b.git("add", ".")
		b.git("commit", "-q", "-m", name)
	}
	commit("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.git("checkout", "-q", "-b", "feature")
	commit("b", "new\n")
	commit("ä [b]", "1\n")
	commit("a", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	b.git("branch", "half")
	b.git("checkout", "-q", "half")
	commit("c", "more\n")
	b.git("checkout", "-q", "main")
	b.git("checkout", "-q", "--orphan", "stranger")
	commit("s", "unrelated\n")
	b.git("checkout", "-q", "-f", "main")
	commit("d", "other work\n")
	b.write("merged: feature", "merged: half", "merged: stranger")
	b.want("not merged", map[int64]string{})
	commit("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.git("merge", "-q", "--squash", "feature")
	b.git("commit", "-q", "-m", "feature (#1)")
	commit("d", "later work\n")
	b.git("branch", "-D", "feature")
	b.want("squashed and deleted", map[int64]string{1: "feature is merged"})
}

func TestNoteIsReadyWhenACommandHasEnded(t *testing.T) {
	b := newBench(t)
	x, err := index.Open(t.Context(), b.IndexDir)
	must(t, err)
	defer func() { must(t, x.Close()) }()
	ran := func(project, command string, status int) {
		t.Helper()
		must(t, x.Update(t.Context(), func(tx *index.Tx) error {
			state, err := tx.Session(index.Session{Harness: "opencode", ID: project, Project: project})
			m := index.Message{Key: fmt.Sprint(command, status, b.Clock.Now()), Ordinal: int(b.Clock.Now()), At: b.Clock.Now(), Chunks: []index.Chunk{{Kind: index.Command, Role: index.Tool, Text: command, Status: &status}}}
			return errors.Join(err, tx.Put(state.Row, project, m))
		}))
	}
	ran(identity, "go test ./...", 0)
	b.Clock.(*clock.Manual).Advance(time.Minute)
	b.write("exit 0: go test ./...", "exit 2: make")
	b.Clock.(*clock.Manual).Advance(time.Minute)
	ran(identity, "go test ./...", 1)
	ran(identity, "echo go test ./...", 0)
	ran("git:2", "go test ./...", 0)
	ran(identity, "cd /x && make", 2)
	b.want("it has not", map[int64]string{})
	ran(identity, "cd /x && go test ./...", 0)
	ran(identity, "make", 2)
	b.want("it has", map[int64]string{1: "go test ./... has ended with exit status 0", 2: "make has ended with exit status 2"})
}

// When the host tests the condition of a note, it must not follow a link out of the project, start a program that the
// repository configures, or read the content of a file.
func TestHostileCloneConditionsStayInTheProject(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "x")
	b.git("init", "-q", "-b", "main", ".")
	b.git("commit", "-q", "--allow-empty", "-m", "first")
	mark := filepath.Join(outside, "mark")
	b.git("config", "core.fsmonitor", "touch "+mark)
	b.git("config", "core.pager", "touch "+mark)
	b.git("config", "alias.for-each-ref", "!touch "+mark)
	b.git("branch", "feature")
	must(t, os.Symlink(outside, filepath.Join(b.dir, "out")))
	f, err := os.Create(filepath.Join(b.dir, "giant"))
	must(t, errors.Join(err, f.Truncate(1<<40), f.Close()))
	b.write("file: out/secret", "no file: out/nothing", "file: giant", "merged: feature")
	b.want("hostile", map[int64]string{3: "giant exists"})
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository has started a program")
	}
}

func TestHostileManyNotesAreBounded(t *testing.T) {
	b := newBench(t)
	b.git("init", "-q", "-b", "main", ".")
	b.git("commit", "-q", "--allow-empty", "-m", "first")
	all := make([]string, 10_000)
	for i := range all {
		all[i] = fmt.Sprintf("merged: b%d", i)
	}
	if refused := b.write(all...); refused != 9_800 {
		t.Errorf("%d notes are refused", refused)
	}
	for want := maxMerges; want <= 200; want += maxMerges { // each test tests the next notes
		must(t, b.TestNotes(t.Context(), b.dir, identity))
		if n := len(b.tried); n != want {
			t.Errorf("%d notes were tested, not %d", n, want)
		}
	}
}

func TestNotesAreNotTestedAgainAndAgain(t *testing.T) {
	b := newBench(t)
	b.write("file: a")
	must(t, b.TestNotes(t.Context(), b.dir, identity))
	write(t, filepath.Join(b.dir, "a"), "")
	write(t, filepath.Join(b.dir, "b"), "")
	must(t, b.TestNotes(t.Context(), b.dir, identity))
	waiting, err := b.Store.Memories.Waiting(t.Context(), identity, 10)
	if must(t, err); len(waiting) != 1 {
		t.Fatalf("%+v", waiting)
	}
	b.Clock.(*clock.Manual).Advance(time.Second)
	must(t, memories.Edit(t.Context(), b.IndexDir, b.Clock.Now(), func(e *memories.Editor) error {
		return e.UpdateNote(chronicle.Note{ID: 1, Project: identity}, "", "file: b")
	}))
	must(t, b.TestNotes(t.Context(), b.dir, identity))
	if waiting, err = b.Store.Memories.Waiting(t.Context(), identity, 10); err != nil || len(waiting) != 0 {
		t.Errorf("%+v, %v", waiting, err)
	}
}
