package status

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// A notice counts the saving only until the prompt is full again, because the next bust would have removed the same
// content anyway. Once, notices of $3.20 stood beside a status of $0.85: each promised its saving for as many requests
// as the session already had. Later busts got no figure, because the tokens of earlier busts filled the window (P9).
func TestSavingOfABustEndsWhenThePromptIsFullAgain(t *testing.T) {
	for _, test := range []struct {
		name                      string
		size, removed, grows, max int
		cause                     pipeline.Cause
		want                      promptcache.Tokens
		passes                    int
	}{
		// The prompts have 20,000, 30,000, 40,000 ... 80,000 tokens. Without the bust: 50,000, 60,000 ... 100,000, 100,000.
		{"until it is full", 50_000, 30_000, 10_000, 20, pipeline.CausePressure, promptcache.Tokens{Read: 6*30_000 + 20_000 + 4000, Write: -4000}, 6},
		{"a short session", 50_000, 30_000, 10_000, 2, pipeline.CausePressure, promptcache.Tokens{Read: 3*30_000 + 4000, Write: -4000}, 2},
		{"written anyway", 50_000, 30_000, 10_000, 2, pipeline.CauseModelChanged, promptcache.Tokens{Read: 2 * 30_000, Write: 30_000}, 2},
		{"full at once", 97_000, 7000, 10_000, 20, pipeline.CausePressure, promptcache.Tokens{Read: 7000 + 4000, Write: -4000}, 0},
		{"without a window", 50_000, 30_000, 10_000, 20, pipeline.CausePressure, promptcache.Tokens{Read: 4000, Write: -4000}, 0},
	} {
		var d pipeline.Decision
		d.Cause, d.Size.Current, d.Price = test.cause, test.size, schema.BustPrice{Removed: test.removed, Resent: 4000}
		window := 100_000
		if test.name == "without a window" {
			window = 0
		}
		if got, passes := sparedBy(d, window, test.grows, test.max); got != test.want || passes != test.passes {
			t.Errorf("%s: got %+v in %d requests, want %+v in %d", test.name, got, passes, test.want, test.passes)
		}
	}
}
