package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/stage"
)

const buildTimeout = 5 * time.Minute

// If the tests cannot run on this machine, `missing` is the reason. Otherwise, it is nil.
var missing error

// Main is the body of TestMain. It calls the function `build` with a new directory, runs the tests, and returns the
// exit code. If `build` returns stage.ErrCannotBuild, the tests still run, but each test that calls Needs is skipped.
// In CI, such a test fails instead.
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

// Needs skips a test that cannot run on this machine. In CI, the test fails: a job that skips all tests must not
// succeed.
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

// NeedsPi skips a test if the repository's Pi cannot run. On Linux the test fails instead, because there npm has
// installed the Node that Pi needs.
func NeedsPi(t *testing.T, repo string) {
	t.Helper()
	Needs(t)
	_, err := pitest.Find(t.Context(), repo, Pi())
	switch {
	case err != nil && (os.Getenv("CI") == "true" || runtime.GOOS == "linux"):
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// NeedsOpenCode2 is for a test that needs OpenCode 2. If MAGICCTX_OPENCODE2 names the source of a beta, the test uses
// the beta. If not, it uses a fake of OpenCode 2, and runs only with -all.
func NeedsOpenCode2(t *testing.T) {
	t.Helper()
	Needs(t)
	if os.Getenv(opencode2.Variable) == "" {
		OnlyWithAll(t, opencode2.Variable+" does not name the source of an OpenCode 2, and e2e/opencode2 plays the fake")
	}
}

// Root returns a new directory with a short path. t.TempDir() is too long: on some systems, the path of a Unix socket
// is limited to 104 bytes.
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

func Remove(t *testing.T, root string) {
	t.Helper()
	if err := stage.RemoveAll(root); err != nil {
		t.Error(err)
	}
}
