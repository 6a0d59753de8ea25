package project

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func commits(t *testing.T, dir, name string) (repository, identity string) {
	t.Helper()
	repository = filepath.Join(dir, name)
	run(t, dir, "init", "-q", "-b", "main", name)
	for _, message := range []string{name, "second"} {
		run(t, repository, "commit", "-q", "--allow-empty", "-m", message)
	}
	return repository, "git:" + run(t, repository, "rev-list", "--max-parents=0", "HEAD")
}

func write(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func wantIdentity(t *testing.T, directory, want string) {
	t.Helper()
	if got, err := Identify(t.Context(), directory); err != nil || got != want {
		t.Errorf("%s: %q, want %q, %v", directory, got, want, err)
	}
}

func wantNone(t *testing.T, directory string) {
	t.Helper()
	if got, err := Identify(t.Context(), directory); err == nil || got != "" {
		t.Errorf("%s: %q, want an error", directory, got)
	}
}

// The expected hash is the beginning of the MD5 of "/home/u/site".
func TestOfDirectory(t *testing.T) {
	for _, path := range []string{"/home/u/site", "/home/u/site/", "/home/u/./other/../site"} {
		if got := OfDirectory(path); got != "dir:1dd864307862" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := OfDirectory("/nonexistent/project-x"); got != "dir:9047048900c7" { // reference vector ident-dir
		t.Error(got)
	}
}

// A repository with its subdirectories, worktrees and clones is one project.
func TestProjectIsTheRepository(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")
	inside := filepath.Join(site, "a", "b")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, site, "worktree", "add", "-q", "-b", "feature", "../worktree")
	run(t, dir, "clone", "-q", "site", "clone")
	run(t, dir, "clone", "-q", "--bare", "site", "bare")
	for _, place := range []string{site, inside, filepath.Join(dir, "worktree"), filepath.Join(dir, "clone")} {
		wantIdentity(t, place, identity)
	}
	if err := os.Rename(filepath.Join(dir, "clone"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	wantIdentity(t, filepath.Join(dir, "moved"), identity)

	other, another := commits(t, dir, "other")
	wantIdentity(t, other, another)
	run(t, site, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	wantIdentity(t, filepath.Join(site, "sub"), another)
	wantIdentity(t, site, identity)
}

// A merge of an unrelated history does not change the identity, whichever root commit is older or has the
// smaller hash.
func TestProjectSurvivesAnUnrelatedHistory(t *testing.T) {
	dir := t.TempDir()
	for _, pair := range [][2]string{{"a", "b"}, {"c", "a"}} {
		site, identity := commits(t, dir, pair[0]+pair[1])
		other, _ := commits(t, dir, pair[1]+pair[0])
		run(t, site, "fetch", "-q", other, "main")
		run(t, site, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "FETCH_HEAD")
		wantIdentity(t, site, identity)
	}
}

// Without a commit, a repository has the identity of its directory. The first commit changes the identity.
func TestProjectWithoutARootCommitIsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")

	plain := filepath.Join(dir, "plain")
	write(t, filepath.Join(plain, "a.txt"), "", 0o600)
	wantIdentity(t, plain, OfDirectory(plain))
	run(t, plain, "init", "-q")
	wantIdentity(t, plain, OfDirectory(plain))
	run(t, plain, "commit", "-q", "--allow-empty", "-m", "first")
	if got, err := Identify(t.Context(), plain); err != nil || !IsRepository(got) {
		t.Errorf("after the first commit: %s, %v", got, err)
	}

	shallow := filepath.Join(dir, "shallow")
	run(t, dir, "clone", "-q", "--depth=1", "file://"+site, "shallow")
	wantIdentity(t, shallow, OfDirectory(shallow))
	run(t, shallow, "fetch", "-q", "--unshallow")
	wantIdentity(t, shallow, identity)
}

// If git fails for a moment, Identify must return no identity. Otherwise, facts would be stored under a wrong identity.
func TestProjectIsUnknownAfterATransientFailure(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")
	wantNone(t, filepath.Join(dir, "deleted"))
	wantNone(t, filepath.Join(site, ".git", "HEAD"))
	wantNone(t, "site")

	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := Identify(ended, site); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %s, %v", got, err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	wantNone(t, site)
	wantIdentity(t, dir, OfDirectory(dir)) // without a repository, git is not needed
	t.Setenv("PATH", path)
	wantIdentity(t, site, identity)
	write(t, filepath.Join(site, ".git", "refs", "heads", "main"), strings.Repeat("1", 40)+"\n", 0o600)
	wantNone(t, site)
}

// A cloned repository may have a hostile git configuration. This must not make git run a program or use another
// repository.
func TestHostileCloneRunsNothingThroughGit(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")
	mark := filepath.Join(dir, "mark")
	program := filepath.Join(dir, "program")
	write(t, program, "#!/bin/sh\ntouch "+mark+"\n", 0o700)
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "pager.rev-list", "core.askPass", "core.editor", "credential.helper", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "gpg.program"} {
		run(t, site, "config", key, program)
	}
	for key, value := range map[string]string{
		"alias.rev-list": "!" + program, "core.hooksPath": dir, "log.showSignature": "true",
		"extensions.partialClone": "origin", "remote.origin.promisor": "true", "remote.origin.url": "ssh://x/y", "core.repositoryFormatVersion": "1",
	} {
		run(t, site, "config", key, value)
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc"} {
		write(t, filepath.Join(dir, hook), "#!/bin/sh\ntouch "+mark+"\n", 0o700)
	}
	other, _ := commits(t, dir, "other")
	os.Remove(mark)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git")) // a hook of git has started the host
	t.Setenv("GIT_TRACE", mark)
	t.Setenv("GIT_EXTERNAL_DIFF", program)
	wantIdentity(t, site, identity)
	wantNone(t, "")

	// Now the root commit is missing, and the configuration says that a remote has it. Git would fetch it, and run one
	// of the configured programs for this. The look-up must fail instead.
	root := strings.TrimPrefix(identity, gitPrefix)
	if err := os.Remove(filepath.Join(site, ".git", "objects", root[:2], root[2:])); err != nil {
		t.Fatal(err)
	}
	wantNone(t, site)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository has executed a program")
	}
}

// A replacement or a graft of commits changes no identity.
func TestHostileCloneGraftsNoOtherRoot(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")
	head := run(t, site, "rev-parse", "HEAD")
	write(t, filepath.Join(site, ".git", "info", "grafts"), head+"\n", 0o600)
	wantIdentity(t, site, identity)
	run(t, site, "replace", "--graft", head)
	wantIdentity(t, site, identity)
}

// Projects looks up the identity of a repository only once. Any other directory may become a repository, so Projects
// looks it up each time. If a look-up fails, the known identity stays.
func TestProjectsRemembersIdentities(t *testing.T) {
	var answer string
	var failure, refusal error
	var asked int
	var found []string
	p := New(Options{
		Identify: func(context.Context, string) (string, error) { asked++; return answer, failure },
		Found: func(_ context.Context, directory, identity string) error {
			found = append(found, directory+" "+identity)
			return refusal
		},
	})
	for _, step := range []struct {
		answer           string
		failure, refusal error
		known            string
		asked, found     int
	}{
		{"", errors.New("git is missing"), nil, "", 1, 0},
		{"dir:1", nil, errors.New("the database is busy"), "", 2, 1},
		{"dir:1", nil, nil, "dir:1", 3, 2},
		{"dir:1", nil, nil, "dir:1", 4, 2},
		{"", errors.New("too slow"), nil, "dir:1", 5, 2},
		{"git:2", nil, nil, "git:2", 6, 3},
		{"git:3", nil, nil, "git:2", 6, 3},
	} {
		answer, failure, refusal = step.answer, step.failure, step.refusal
		err := p.Find(t.Context(), "/p")
		if (err != nil) != (step.failure != nil || step.refusal != nil) || p.Known("/p") != step.known || asked != step.asked || len(found) != step.found {
			t.Errorf("%+v: %v, %q, asked %d, found %q", step, err, p.Known("/p"), asked, found)
		}
	}
	if p.Known("/q") != "" || New(Options{}).Known("/q") != OfDirectory("/q") {
		t.Error("a directory that nobody has looked up has an identity, or one without a lookup has none")
	}
}
