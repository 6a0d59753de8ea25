package main

import (
	"context"
	"os"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
)

var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "../..", dir)
		return err
	}))
}

const smokeTurns = 3

func playSmoke(t *testing.T, v variant) result {
	t.Helper()
	suite.Needs(t)
	r := run{variant: v, product: product, root: suite.Root(t), turns: smokeTurns}
	res, err := r.play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.tally.Turns != smokeTurns || res.Overflows != 0 || res.Strangers != 0 {
		t.Errorf("%d of %d turns answered, %d overflows, %d strangers", res.tally.Turns, smokeTurns, res.Overflows, res.Strangers)
	}
	return res
}

// In a window that three turns fill, OpenCode compacts, and the story goes on.
func TestStoryGoesOnAfterCompaction(t *testing.T) {
	v := withCompaction
	v.limits = opencodetest.Limits{Context: 30_000, Output: 8_192}
	res := playSmoke(t, v)
	if res.Summaries == 0 || len(res.Busts) != res.Summaries {
		t.Errorf("%d summaries, busts %+v, want one bust for each summary", res.Summaries, res.Busts)
	}
	if res.Peak >= v.limits.Context {
		t.Errorf("the peak is %d", res.Peak)
	}
}

// In a window with room enough each request of magicctx extends the one before.
func TestStoryWithMagicctx(t *testing.T) {
	res := playSmoke(t, withMagicctx)
	if res.Requests != smokeTurns*(calls+1) || len(res.Busts) != 0 {
		t.Errorf("%d requests, busts %+v, want %d and none", res.Requests, res.Busts, smokeTurns*(calls+1))
	}
	// The last prompt holds what the steps of the story brought, and no more than
	// the system prompt, the tools and the tags beside it.
	if res.Peak < 20_000 || res.Peak > 35_000 {
		t.Errorf("the peak is %d tokens", res.Peak)
	}
}
