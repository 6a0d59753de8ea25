package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

func TestMemoryListAndRm(t *testing.T) {
	dir := t.TempDir()
	host, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	if out, errs, code := runReal(t, "memory", "--data-dir", dir); code != exitOK || !strings.Contains(out, "remembers nothing yet") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{"memories":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runReal(t, "memory", "import", empty, "--data-dir", dir); code != exitOK || out != "Nothing has changed: all of it is known here.\n" {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	learnFact(t, host, "dir:0123456789ab", "tests run with\x1b[31m go test ./...")

	out, errs, code := runReal(t, "memory", "list", "--data-dir", dir)
	if code != exitOK || !strings.Contains(out, "/p (dir:0123456789ab)\n     1  WORKFLOW_RULES: tests run with") || strings.ContainsRune(out, 0x1b) {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "memory", "rm", "7", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "no such memory: number 7") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "memory", "rm", "1", "--data-dir", dir); code != exitOK || !strings.Contains(out, "WORKFLOW_RULES: tests run with") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	known, err := host.Memories.Of(t.Context(), "dir:0123456789ab", 0)
	if err != nil || len(known.Memories) != 0 || known.ChangeID == 0 {
		t.Errorf("the host still has %+v, %v", known, err)
	}
}

func learnFact(t *testing.T, s *store.Store, project, content string) {
	t.Helper()
	key := store.Key{Harness: "opencode", Session: "ses_one"}
	err := s.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Mode: "primary", TagCounter: 1}, Pass: store.PassRow{Pass: 1, Verdict: "steady"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), "test"); err != nil {
		t.Fatal(err)
	}
	err = s.History.Publish(t.Context(), store.Publication{
		Key: key, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Project: project, Facts: []chronicle.Fact{{Category: "WORKFLOW_RULES", Content: content}},
		Compartments: []chronicle.Compartment{{Start: 1, End: 1, Keys: []string{"a"}, Title: "T", MadeBy: "model"}},
		Run:          work.RunRow{Kind: "incremental", Pass: 1, Status: work.Success},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMemoriesAreEdited(t *testing.T) {
	dir, other, place := t.TempDir(), t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		s, err := store.Open(t.Context(), store.Options{Dir: d, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	}
	file := filepath.Join(place, "memories.json")
	exported := ""
	for _, step := range []struct {
		args, want string
		code       int
	}{
		{"add --project PLACE --category naming Hosts are called hosts.", "     1  NAMING (from user): Hosts are called hosts.", exitOK},
		{"add --project PLACE --category other x", `category is "OTHER"; it is one of PROJECT_RULES`, exitFailed},
		{"add --project PLACE/missing x", "find the project of", exitFailed},
		{"add --project PLACE --importance 200 x", "importance is 200; it is 1 to 100", exitFailed},
		{"edit 1 --pin --days 3 --importance 90 Hosts are hosts.", "     1  NAMING (pinned, from user): Hosts are hosts.", exitOK},
		{"edit 7 x", "no such memory: number 7; memory list --all shows all numbers", exitFailed},
		{"show 1", "importance 90", exitOK},
		{"show 1 --json", `"kind": "update"`, exitOK},
		{"show 1", "        expires on ", exitOK},
		{"edit 1 --check go.mod", "pinned", exitOK},
		{"show 1", "        check: go.mod", exitOK},
		{"edit 1 --check /etc/passwd", "with a path from the root of the project", exitFailed},
		{"edit 1 --check none --json", `"permanent": true`, exitOK},
		{"archive", "Try magicctx-host memory archive --help.", exitUsage},
		{"archive 1 --reason old", "1  NAMING (archived, from user)", exitOK},
		{"archive 1", "the memory is not active: number 1 is archived; memory restore makes it active again", exitFailed},
		{"list", "remembers nothing yet", exitOK},
		{"list --all --json", `"status": "archived"`, exitOK},
		{"show 1", "  archive old\n", exitOK},
		{"restore 1", "1  NAMING (from user): Hosts are hosts.", exitOK},
		{"edit 1 --unpin", "1  NAMING (from user): Hosts are hosts.", exitOK},
		{"add --project PLACE --days 0 Commit small.", "2  PROJECT_RULES (from user)", exitOK},
		{"export", `"content": "Commit small."`, exitOK},
		{"import FILE", "Nothing has changed", exitOK},
		{"import FILE --json", `"memories": []`, exitOK},
		{"import PLACE/missing", "missing", exitUsage},
		{"review", "No memory waits for your review.", exitOK},
		{"restore", "name numbers of memories, or --run", exitUsage},
		{"list --run 0", "--run is 0; the runs of a project count from 1", exitUsage},
		{"restore --run 0", "--run is 0; the runs of a project count from 1", exitUsage},
		{"restore 1 --run 1 --project PLACE", "name numbers of memories or --run, not both", exitUsage},
		{"list --user", "remembers nothing yet", exitOK},
		{"add --user Likes zebras.", "About you, in all projects\n     3  USER_PREFERENCES (from user): Likes zebras.", exitOK},
		{"list --user", "3  USER_PREFERENCES", exitOK},
		{"list --project PLACE", "2  PROJECT_RULES", exitOK},
		{"edit 3 --category NAMING", "no other category than USER_PREFERENCES", exitFailed},
		{"add --user --category NAMING Likes giraffes.", "--user or --category, not both", exitUsage},
		{"list --user --project PLACE", "--user or --project, not both", exitUsage},
		{"archive 3", "3  USER_PREFERENCES (archived, from user)", exitOK},
		{"list --user --all", "archived", exitOK},
		{"show 3", "project user, importance 75", exitOK},
		{"rm 3", "They are deleted for ever.", exitOK},
		{"restore 3", "no such memory: number 3", exitFailed},
		{"restore --run 1 --project PLACE", "the project's dreamer has changed no memories in a run 1", exitFailed},
	} {
		args := strings.Fields(strings.NewReplacer("PLACE", place, "FILE", file).Replace(step.args))
		out, errs, code := runReal(t, append(append([]string{"memory"}, args...), "--data-dir", dir)...)
		if code != step.code || !strings.Contains(out+errs, step.want) {
			t.Errorf("%s: exit code %d, %q%s, want %s", step.args, code, out, errs, step.want)
		}
		if step.args == "export" {
			exported = out
			if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out, errs, code := runReal(t, "memory", "import", "--data-dir", other, file); code != exitOK || !strings.Contains(out, "2  PROJECT_RULES (from user): Commit small.") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, _, _ := runReal(t, "memory", "export", "--data-dir", other); strings.Count(out, `"project": "dir:`) != 2 || strings.Count(exported, `"project": "dir:`) != 2 {
		t.Errorf("exported again:\n%s\nand before:\n%s", out, exported)
	}
	for _, wrong := range []string{"{", `{"memories":[{"category":"NAMING","content":"x","project":"git:1","source":"nobody","status":"active"}]}`} {
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := runReal(t, "memory", "import", "--data-dir", other, file); code != exitFailed {
			t.Errorf("%s: exit code %d, %q%s", wrong, code, out, errs)
		}
	}
}

func TestNotesAreListed(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if out, errs, code := runReal(t, "notes", "--data-dir", dir); code != exitOK || !strings.Contains(out, "There are no open notes.") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	for _, n := range []chronicle.Note{{Content: "look\x1b[31m at tabs"}, {Content: "remove it", Condition: "2.0 is out", Project: "git:1"}} {
		n.Harness, n.Session = "pi", "s1"
		_, err := s.Answer(t.Context(), store.Key{Harness: "pi", Session: "s1"}, "", func(e *memories.Editor) (string, error) {
			_, err := e.WriteNote(n)
			return "", err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, errs, code := runReal(t, "notes", "--data-dir", dir); code != exitOK || !strings.Contains(out, "pi session s1: look at tabs\n") || !strings.Contains(out, "project git:1, waits for: 2.0 is out: remove it\n") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "notes", "done", "2", "9", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "there is no such open note: number 9; none of the 2 notes was changed") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	third := chronicle.Promise{Words: "We must \x1b[31mship.", By: chronicle.ByUser, Message: 5}
	if err := s.Update(t.Context(), func(tx *database.Tx) error {
		return memories.Keep(tx, "git:1", []chronicle.Promise{third}, nil, "pi", "s1", 1)
	}); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runReal(t, "notes", "--data-dir", dir); code != exitOK || !strings.Contains(out, "project git:1, said by the user in pi session s1, message 5: We must ship.\n") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "notes", "done", "3", "--data-dir", dir); code != exitOK || out != "Done: 1 note.\n" {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, _, _ := runReal(t, "notes", "--data-dir", dir); strings.Contains(out, "ship") {
		t.Error(out)
	}
	if out, _, _ := runReal(t, "notes", "--all", "--data-dir", dir); !strings.Contains(out, "     3  done, ") {
		t.Error(out)
	}
	if out, errs, code := runReal(t, "notes", "done", "--undo", "3", "--data-dir", dir); code != exitOK || out != "Open again: 1 note.\n" {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "notes", "done", "--undo", "3", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "no note 3 is done or dismissed") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, _, _ := runReal(t, "notes", "--data-dir", dir); !strings.Contains(out, "     3  active, ") {
		t.Error(out)
	}
	if out, errs, code := runReal(t, "notes", "rm", "1", "9", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "there is no note 9") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "notes", "rm", "1", "--data-dir", dir); code != exitOK || out != "Deleted: 1 note.\n" {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "notes", "--json", "--data-dir", dir); code != exitOK || strings.Contains(out, "tabs") || !strings.Contains(out, `"status": "pending"`) {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
}

// Before the first session, there is no database. The commands must then say that nothing is remembered, and must not
// fail.
func TestMemoryAndNotesWithoutADatabase(t *testing.T) {
	for want, args := range map[string][]string{
		"magicctx remembers nothing yet.":  {"memory", "list"},
		"No memory waits for your review.": {"memory", "review"},
		`"memories": []`:                   {"memory", "export"},
		"There are no open notes.":         {"notes", "list"},
	} {
		if out, errs, code := runReal(t, append(args, "--data-dir", t.TempDir())...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, %s%s", args, code, out, errs)
		}
	}
}

func TestRunOfTheDreamerIsUndone(t *testing.T) {
	dir, place := t.TempDir(), t.TempDir()
	host, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	for _, content := range []string{"Commit small.", "Commit in small steps."} {
		if out, errs, code := runReal(t, "memory", "add", "--project", place, "--data-dir", dir, content); code != exitOK {
			t.Fatalf("exit code %d, %s%s", code, out, errs)
		}
	}
	identity, err := identify(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	known, err := host.Memories.Of(t.Context(), identity, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Leases.Acquire(t.Context(), memories.DreamerOf(identity), "1.1"); err != nil {
		t.Fatal(err)
	}
	call, err := host.Calls.Reserve(t.Context(), memories.DreamerOf(identity), "1.1", chronicle.Call{Directory: place}, work.Spent{Tokens: 9}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Calls.Settle(t.Context(), call, chronicle.Call{Model: "p/m", Input: 9}, work.Spent{Tokens: 9}); err != nil {
		t.Fatal(err)
	}
	merge := []memories.Tended{{Old: known.Memories, Content: "Commit often."}}
	err = host.Memories.Tend(t.Context(), identity, "1.1", 0, merge, func(int, []memories.Tended) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	// The bug: the command `spend` counted a merge of memories as a new memory, even after the merge was undone.
	counts := func(changes string) {
		t.Helper()
		out, errs, _ := runReal(t, "spend", "--json", "--data-dir", dir)
		if got := strings.ReplaceAll(out, " ", ""); !strings.Contains(got, `"changes":`+changes+",") || !strings.Contains(got, `"memories":0,`) {
			t.Errorf("spend counts other than %s changes: %s%s", changes, out, errs)
		}
	}
	counts("1")
	// The bug: run 1 changed the memories of one project. If the user named this run in another project, the error
	// looked like a damaged database. It must name the project to which the run belongs.
	for _, command := range []string{"list", "restore"} {
		_, errs, code := runReal(t, "memory", command, "--run", "1", "--project", t.TempDir(), "--data-dir", dir)
		if code != exitFailed || strings.Contains(errs, "magicctx.db") || !strings.Contains(errs, "a run 1 belongs to "+place+": name that directory with --project") {
			t.Errorf("%s in another project: exit code %d, %s", command, code, errs)
		}
	}
	out, errs, code := runReal(t, "memory", "restore", "--run", "1", "--project", place, "--data-dir", dir)
	if code != exitOK || !strings.Contains(out, "Commit small.") || !strings.Contains(out, "Commit in small steps.") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	counts("0")
	if out, _, _ := runReal(t, "memory", "list", "--data-dir", dir); strings.Contains(out, "Commit often.") || strings.Count(out, "Commit") != 2 {
		t.Errorf("after that: %s", out)
	}
}

// A run can be undone after its directory is gone.
func TestMemoryBeforeTheFirstSession(t *testing.T) {
	dir, gone := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runReal(t, "memory", "add", "--data-dir", dir, "--project", gone, "the zebra sleeps"); code != exitOK || !strings.Contains(out, "the zebra sleeps") {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ := runReal(t, "memory", "restore", "--data-dir", dir, "--run", "1", "--project", gone); strings.Contains(errs, "no such file") {
		t.Errorf("%s%s", out, errs)
	}
	if out, errs, code := runReal(t, "memory", "restore", "--data-dir", dir, "--run", "1", "--project", gone+"2"); code == exitOK || !strings.Contains(errs, "no such file") {
		t.Errorf("%s%s", out, errs)
	}
}

func TestADamagedIndexHasARemedy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(index.PathIn(dir), []byte(strings.Repeat("zebra ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runReal(t, "search", "--data-dir", dir, "zebra"); code == exitOK || !strings.Contains(errs, "index makes it anew") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
