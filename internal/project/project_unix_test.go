//go:build unix

package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A repository of another user is not trusted, so it counts as a plain directory. If the user's own repository cannot
// be read, the project has no identity at all, because the repository may be readable again later.
func TestProjectNeedsAReadableRepositoryOfTheUser(t *testing.T) {
	dir := t.TempDir()
	site, identity := commits(t, dir, "site")
	dotGit := filepath.Join(site, ".git")
	if os.Getuid() == 0 { // root can read everything, and can give files to other users
		for _, file := range []string{site, dotGit} {
			if err := os.Chown(file, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}
		wantIdentity(t, site, OfDirectory(site))
		return
	}
	if err := os.Chmod(dotGit, 0); err != nil {
		t.Fatal(err)
	}
	wantNone(t, site)
	if err := os.Chmod(dotGit, 0o700); err != nil {
		t.Fatal(err)
	}
	wantIdentity(t, site, identity)
}

// git may hang, for example on a file system that does not answer. Identify must then return when its context ends.
func TestProjectWaitsForGitOnlySoLong(t *testing.T) {
	dir := t.TempDir()
	site, _ := commits(t, dir, "site")
	write(t, filepath.Join(dir, "bin", "git"), "#!/bin/sh\nexec sleep 60\n", 0o700)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got, err := Identify(ctx, site); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s, %v", got, err)
	}
	if took := time.Since(began); took > gitTimeout {
		t.Errorf("it took %v", took)
	}
}
