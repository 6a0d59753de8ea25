package fault

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

const buildTimeout = 5 * time.Minute

var (
	// product is what TestMain built, for all tests.
	product stage.Product
	// switchHost is the binary that stands in for the host's.
	switchHost string
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
	dir, err := os.MkdirTemp("", "magicctx-fault-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir); errors.Is(err, stage.ErrCannotBuild) {
		missing = err
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		return 1
	}
	return m.Run()
}

func build(dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if product, err = stage.Build(ctx, filepath.Join("..", ".."), dir); err != nil {
		return err
	}
	switchHost = filepath.Join(dir, "switchhost"+filepath.Ext(product.Host))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", switchHost, "./switchhost").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build switchhost: %w\n%s", err, out)
	}
	return nil
}

// needs skips a test that cannot run here; in CI it fails instead.
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
