package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "..", dir)
		product.Pi = suite.Pi()
		return err
	}))
}

func needs(t *testing.T, h schema.Harness) {
	t.Helper()
	switch h {
	case schema.HarnessPi:
		suite.NeedsPi(t, product.Repo)
	case schema.HarnessOpenCode2:
		suite.NeedsOpenCode2(t)
	default:
		suite.Needs(t)
	}
}
