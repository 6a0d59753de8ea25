package indexing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

type repository struct {
	t    *testing.T
	dir  string
	time int
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: filepath.Join(t.TempDir(), "r"), time: 1_700_000_000}
	must(t, os.MkdirAll(r.dir, 0o700))
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	r.time++
	when := fmt.Sprint(r.time, " +0000")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func (r *repository) commit(message string) {
	r.t.Helper()
	r.git("commit", "-q", "--allow-empty", "-m", message)
}

const gitProject = "git:0123456789012345678901234567890123456789"

var allCommits = commitConfig(true, 3650, 100)

func commitConfig(isEnabled bool, days, most int) (cfg schema.Config) {
	cfg.Memory.GitCommitIndexing = schema.GitCommitIndexing{Enabled: isEnabled, SinceDays: days, MaxCommits: most}
	return cfg
}

// A branch may be merged late. Its commits are then older than the newest commit in the index, but they must
// still be indexed.
func TestBugK7CommitsOfALateMergeAreIndexed(t *testing.T) {
	w, r := newWorld(t), newRepository(t)
	commits := func(want int) {
		t.Helper()
		n, err := w.x.Commits(t.Context(), r.dir, gitProject, allCommits)
		must(t, err)
		if n != want {
			t.Errorf("%d commits were read, want %d", n, want)
		}
	}
	r.commit("zebra one")
	r.git("branch", "old")
	r.git("checkout", "-q", "old")
	r.commit("zebra of the old branch\n\nwith gh" + "p_q7Zt4Xw9Lm2Kc8Vb5Rn1Hd6Jf3Gs0PyTeUaW")
	r.git("checkout", "-q", "main")
	r.commit("zebra two \x1b[31m\x1fa\x1e")
	commits(2)
	commits(0)
	r.git("merge", "-q", "--no-ff", "-m", "merge the zebra", "old")
	commits(1)
	want := []string{
		gitProject + " 0 tool commit: zebra of the old branch\n\nwith [redacted GitHub token]", gitProject + " 0 tool commit: zebra one",
	}
	if got := w.find("zebra"); len(got) != 3 || got[0] != want[0] || got[1] != want[1] || strings.Contains(got[2], "\x1b") {
		t.Errorf("%q", got)
	}
	r.git("reset", "-q", "--hard", "HEAD~1")
	r.git("reflog", "expire", "--expire=now", "--all")
	r.git("gc", "-q", "--prune=now") // git no longer knows the commit that was read last
	r.commit("zebra three")
	if n, err := w.x.Commits(t.Context(), r.dir, gitProject, allCommits); err != nil || n == 0 || len(w.find("thre")) != 1 {
		t.Errorf("after a rebase: %d, %v", n, err)
	}
	if got := w.find("one"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestCommitsAreReadAsConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		schema.Config
		want int
	}{
		"all":      {allCommits, 3},
		"off":      {commitConfig(false, 3650, 100), 0},
		"two":      {commitConfig(true, 3650, 2), 2},
		"one year": {commitConfig(true, 365, 100), 1},
	} {
		w, r := newWorld(t), newRepository(t)
		r.commit("zebra of 2023")
		r.commit("another zebra of 2023")
		r.time = int(time.Now().Unix())
		r.commit("zebra of today")
		if n, err := w.x.Commits(t.Context(), r.dir, gitProject, c.Config); err != nil || n != c.want {
			t.Errorf("%s: %d commits were read, want %d; %v", name, n, c.want, err)
		}
	}
}

func TestCommitsWithoutGit(t *testing.T) {
	w, r := newWorld(t), newRepository(t)
	if n, err := w.x.Commits(t.Context(), r.dir, gitProject, allCommits); err == nil || n != 0 {
		t.Errorf("a repository without a commit: %d, %v", n, err)
	}
	r.commit("zebra")
	if n, err := w.x.Commits(t.Context(), r.dir, "dir:0123", allCommits); err != nil || n != 0 {
		t.Errorf("a directory without a repository: %d, %v", n, err)
	}
	t.Setenv("PATH", t.TempDir())
	if n, err := w.x.Commits(t.Context(), r.dir, gitProject, allCommits); err == nil || n != 0 {
		t.Errorf("without git: %d, %v", n, err)
	}
}

func TestRulesAndDecisionsAreIndexed(t *testing.T) {
	w := newWorld(t)
	rawhistorytest.NewOpenCode(t, w.home).Add("ses_1", []json.Value{
		said("m1", "user", 1, "The zebra is slow. Please never paint the zebra red! What must the zebra do?\n```\nnever zebra\n```\nThen we go with the fast zebra."),
		said("m2", "assistant", 2, "I never saw a zebra."),
	})
	w.run()
	for kind, want := range map[index.Kind]string{index.Rule: "Please never paint the zebra red!", index.Decision: "Then we go with the fast zebra."} {
		var got []string
		must(t, w.x.Index.View(t.Context(), func(v *index.View) error {
			return v.Find(`"zebra"`, index.Scope{Filter: index.Filter{Kinds: []index.Kind{kind}}}, 9, func(h index.Hit) { got = append(got, h.Text) })
		}))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// A host reads a long session in slices, with pauses between them. The index must be the same as after one long
// read.
func TestSlicesGiveTheSameIndex(t *testing.T) {
	w := newWorld(t)
	var all []json.Value
	for i := range 2*batchMessages + 7 {
		all = append(all, said(fmt.Sprintf("m%05d", i), [...]string{"user", "assistant"}[i%2], i+1, fmt.Sprint("zebra", i%5)))
	}
	rawhistorytest.NewOpenCode(t, w.home).Add("ses_1", all)
	sliced := newWorld(t)
	sliced.home, sliced.x.Share, sliced.x.Reader = w.home, 1, w.x.Reader
	if p := sliced.run(); p.Messages != len(all) {
		t.Errorf("%+v", p)
	}
	w.run()
	got, want := sliced.find("zebra3"), w.find("zebra3")
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) != 100 {
		t.Errorf("%d hits in slices, %d at once", len(got), len(want))
	}
}

// A commit's message may contain the bytes that end a field or a record in the output of git. If the reader took them
// for real ends, the message could forge another commit and so replace any commit in the index.
func TestHostileMessageForgesNoCommit(t *testing.T) {
	w, r := newWorld(t), newRepository(t)
	r.commit("zebra\n\n\x1e" + strings.Repeat("1", 40) + "\x1f0\x1fforged\x1fbody\x1e")
	n, err := w.x.Commits(t.Context(), r.dir, gitProject, allCommits)
	must(t, err)
	if found := w.find("zebra"); n != 1 || len(found) != 1 {
		t.Errorf("%d commits were read, found %v", n, found)
	}
}
