package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
)

// A Trial contains settings for a replay. A zero field means the recorded setting.
type Trial struct {
	Spending  schema.Spending `json:"spending"`
	Threshold float64         `json:"threshold"` // in percent of the window
	Window    string          `json:"window"`    // in tokens, for example "64k"
	Prices    string          `json:"prices"`    // for example "anthropic/claude", or "3 3.75 0.3 15"
}

type Outcome struct {
	Row
	// All three are in tokens. Largest is the largest prompt. Removed is the size of all removed content. Reread is the
	// part of Removed that the model read again within 20 requests.
	Largest, Removed, Reread int
	// MissedRuns counts the runs of the historian for which the replay found no recorded answer in the trace.
	MissedRuns int
}

// WhatIf replays the newest trace of a session twice: with the recorded settings, and with the settings of t.
func WhatIf(ctx context.Context, dataDir, session string, t Trial, progress func(done, steps int)) (recorded, tried Outcome, err error) {
	o := replay.Options{Marks: replay.Marks{Spending: t.Spending, High: t.Threshold}}
	if t == (Trial{}) {
		return recorded, tried, errors.New("choose at least one other setting")
	}
	if t.Window != "" {
		var window format.TokenCount
		if err := window.UnmarshalText([]byte(t.Window)); err != nil {
			return recorded, tried, fmt.Errorf("the window is %w", err)
		}
		o.Window = int(window)
	}
	if o.Prices, err = PricesOf(ctx, dataDir, t.Prices); err != nil {
		return recorded, tried, err
	}
	if err := o.Check(); err != nil {
		return recorded, tried, err
	}
	n, err := newestOfSession(ctx, dataDir, session)
	if err != nil {
		return recorded, tried, err
	}
	before := 0
	one := func(o replay.Options) (Outcome, error) {
		o.Progress = func(done, steps int) {
			progress(before*steps+done, 2*steps)
		}
		s, err := n.play(ctx, o)
		before++
		regret := schema.SumOf(s.Regret().Removals)
		return Outcome{rowOf(session, s), s.Prompts.Largest, regret.Tokens, regret.Reread, len(s.MissedRuns)}, err
	}
	if recorded, err = one(replay.Options{}); err != nil {
		return recorded, tried, err
	}
	tried, err = one(o)
	return recorded, tried, err
}
