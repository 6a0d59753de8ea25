package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// product is the build that TestMain made for all tests.
var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "..", dir)
		return err
	}))
}
