package skew

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

var (
	// The product has a development build of the host.
	product      stage.Product
	older, newer release
)

type release struct{ version, host string }

func TestMain(m *testing.M) { os.Exit(suite.Main(m, build)) }

func build(ctx context.Context, dir string) (err error) {
	if product, err = stage.Build(ctx, "../..", dir); err != nil {
		return err
	}
	product.Pi = suite.Pi()
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

func needs(t *testing.T, h schema.Harness) {
	t.Helper()
	if h == schema.HarnessPi {
		suite.NeedsPi(t, product.Repo)
		return
	}
	suite.Needs(t)
}
