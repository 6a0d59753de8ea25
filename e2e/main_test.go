package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

const buildTimeout = 5 * time.Minute

var (
	// product is what TestMain built, for all tests.
	product stage.Product
	// missing says why the tests cannot run here.
	missing error
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
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
	product, err = stage.Build(ctx, "..", dir)
	if errors.Is(err, stage.ErrCannotBuild) {
		missing = err
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// needs skips a test that cannot run here; in CI it fails instead, so that
// nobody takes a job for green that tested nothing.
func needs(t *testing.T) {
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
