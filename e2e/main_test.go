package e2e

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// product is the build that TestMain made for all tests.
var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "..", dir)
		return err
	}))
}

// piVersion chooses the Pi of all tests that start one.
var piVersion = flag.String("pi", string(pitest.V087), "version of Pi for the tests: 0.87 or 0.74")

// needs skips a test whose harness cannot run on this machine.
func needs(t *testing.T, h schema.Harness) {
	t.Helper()
	if h == schema.HarnessPi {
		suite.NeedsPi(t, product.Repo)
		return
	}
	suite.Needs(t)
}
