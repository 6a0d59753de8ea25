package status

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// The bug (P9): the notices promised a saving of $3.20, but the status later showed only $0.85. A notice assumed that
// the session would have as many requests again as it had had so far, and that each of them would be shorter by all
// removed tokens. But without the bust, the growing prompt would soon have filled the window, and could not have grown
// further. The notices of later busts named no saving at all, because the tokens that earlier busts had removed
// would have filled the window alone.
func TestSavingOfABustCountsTheGrowth(t *testing.T) {
	for name, test := range map[string]struct {
		size, removed, window, passes int
		cause                         pipeline.Cause
		want                          promptcache.Tokens
	}{
		// With the bust, the prompts have 20,000, 30,000, 40,000 ... 80,000 tokens. Without it, they would have 50,000,
		// 60,000 ... 100,000 tokens, and the last one could not grow further: the window has 100,000 tokens.
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
