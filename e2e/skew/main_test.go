package skew

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
	// The product, whose host is a development build, and hosts of two releases.
	product      stage.Product
	older, newer release
	// missing says why the tests cannot run here.
	missing error
)

// A release is a build of the host.
type release struct{ version, host string }

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "magicctx-skew-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "skew:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir); errors.Is(err, stage.ErrCannotBuild) {
		missing = err
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "skew:", err)
		return 1
	}
	return m.Run()
}

func build(dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if product, err = stage.Build(ctx, "../..", dir); err != nil {
		return err
	}
	if older, err = buildRelease(ctx, dir, "1.0.0"); err != nil {
		return err
	}
	newer, err = buildRelease(ctx, dir, "1.1.0")
	return err
}

func buildRelease(ctx context.Context, dir, version string) (release, error) {
	r := release{version, filepath.Join(dir, version, filepath.Base(product.Host))}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", r.host,
		"-ldflags", "-X github.com/magicctx/magicctx-host/rpc.Version="+version, "./cmd/magicctx-host")
	cmd.Dir = product.Repo
	if out, err := cmd.CombinedOutput(); err != nil {
		return r, fmt.Errorf("build release %s: %w\n%s", version, err, out)
	}
	return r, nil
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
