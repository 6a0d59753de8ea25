package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

var (
	product stage.Product
	// switchHost is the path of a program that the tests install in place of the host. It can behave like a broken host.
	switchHost string
)

func TestMain(m *testing.M) { os.Exit(suite.Main(m, build)) }

func build(ctx context.Context, dir string) (err error) {
	if product, err = stage.Build(ctx, filepath.Join("..", ".."), dir); err != nil {
		return err
	}
	product.Pi = suite.Pi()
	switchHost = filepath.Join(dir, "switchhost"+filepath.Ext(product.Host))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", switchHost, "./switchhost").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build switchhost: %w\n%s", err, out)
	}
	return nil
}
