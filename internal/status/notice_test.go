package status

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// The bug (P9): the notices promised a saving of $3.20, but the status later showed only $0.85. A notice assumed that
// each future request would be shorter by all removed tokens. But without the bust, the prompt would soon have filled
// the window and stopped growing, so later requests save less. The notices of later busts named no saving at all: with
// the tokens that earlier busts had removed, the prompt would have filled the window in any case.
func TestSavingOfABustCountsTheGrowth(t *testing.T) {
	for name, test := range map[string]struct {
		size, removed, window, passes int
		cause                         pipeline.Cause
		want                          promptcache.Tokens
	}{
		// With the bust, the prompts have 20,000, 30,000, 40,000 ... 80,000 tokens. Without it, they would have 50,000,
		// 60,000 ... 100,000 tokens. The last of these is as large as the window, and could not grow further.
		"until the window is full": {50_000, 30_000, 100_000, 6, pipeline.CausePressure, promptcache.Tokens{Read: 6*30_000 + 20_000 + 4000, Write: -4000}},
		"written anyway":           {50_000, 30_000, 100_000, 2, pipeline.CauseModelChanged, promptcache.Tokens{Read: 2 * 30_000, Write: 30_000}},
		"full at once":             {97_000, 7000, 100_000, 0, pipeline.CausePressure, promptcache.Tokens{Read: 7000 + 4000, Write: -4000}},
		"without a window":         {50_000, 30_000, 0, 0, pipeline.CausePressure, promptcache.Tokens{Read: 4000, Write: -4000}},
	} {
		var d pipeline.Decision
		d.Cause, d.Size.Current, d.Price = test.cause, test.size, schema.BustPrice{Removed: test.removed, Resent: 4000}
		if got := sparedBy(d, test.window, 10_000, test.passes); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
