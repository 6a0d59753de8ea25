// Package suite is what the test packages that start the real OpenCode have in
// common: building the product once, a root for their files, and what to do
// where OpenCode cannot run.
//
// It may import e2e/stage.
package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

// buildTimeout bounds a build with cold caches.
const buildTimeout = 5 * time.Minute

// missing says why the tests of this process cannot run here.
var missing error

// Main is the body of a TestMain: it calls build with a directory for what it
// builds, runs the tests, and returns the exit code. Where build fails with
// stage.ErrCannotBuild the tests run, and Needs says why they cannot.
func Main(m *testing.M, build func(ctx context.Context, dir string) error) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "magicctx-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if missing = build(ctx, dir); missing != nil && !errors.Is(missing, stage.ErrCannotBuild) {
		fmt.Fprintln(os.Stderr, "e2e:", missing)
		return 1
	}
	return m.Run()
}

// Needs skips a test that cannot run here; in CI it fails instead, so that
// nobody takes a job for green that tested nothing.
func Needs(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("starts the real OpenCode")
	case missing != nil && os.Getenv("CI") == "true":
		t.Fatal(missing)
	case missing != nil:
		t.Skip(missing)
	}
}

// Root makes a directory for the files of a test. It is not t.TempDir(), whose
// length leaves too little of the 104 bytes that a Unix socket's path may have.
func Root(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "mcx")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Remove(t, root) })
	return root
}

// Remove removes a root. OpenCode's git snapshots may still be written by a
// grandchild that outlived it by an instant.
func Remove(t *testing.T, root string) {
	t.Helper()
	err := os.RemoveAll(root)
	for range 50 {
		if err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
		err = os.RemoveAll(root)
	}
	t.Error(err)
}
