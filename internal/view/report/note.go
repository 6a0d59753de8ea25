package report

import (
	"cmp"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

// PriceNote describes the price of a bust as the pass estimated it, and says whether the bust waits. If the pass
// estimated no price, it returns "".
func PriceNote(p *replay.Pass) string {
	switch {
	case p.Waits():
		return "waits: " + words.Price(p.Price)
	case p.PriceOfBust() != schema.BustPrice{}:
		return words.Price(p.Price)
	}
	return ""
}

// CacheOf returns the effect of the request on the provider's cache. It is "rebuilt" after a bust, "new" after a hard
// pass without a bust (for example the first pass), and otherwise "kept". Even a steady pass can be a bust, for example
// because the harness has changed messages that it had already sent.
func CacheOf(p *replay.Pass) string {
	switch {
	case p.Bust:
		return "rebuilt"
	case p.Verdict == schema.Hard:
		return "new"
	}
	return "kept"
}

// CauseOf returns the cause of a pass in the words of the status.
func CauseOf(p *replay.Pass) string {
	if p.Bust {
		return format.Cause(cmp.Or(p.BustCause, "unexplained"))
	}
	return format.Cause(p.Cause)
}

func lostNote(blocks, tokens int) string {
	if blocks == 0 {
		return ""
	}
	return fmt.Sprintf("cost %s of thinking, about %s tokens", format.Count(blocks, "block"), format.Tokens(tokens))
}

// ReadShare returns the share of the prompts that came from the cache, or "-".
func ReadShare(t replay.Tokens) string {
	if t.Fresh+t.Written+t.Read == 0 {
		return "-"
	}
	return format.FinePercent(t.ReadShare())
}

// OutcomeNote says what a bust cost in the end and whether it paid off, in at most 62 columns. If the cost and the gain
// are below leastMoney, it returns "". If a bust paid off, OutcomeNote does not say how much it saved. If two busts
// would have removed the same tokens, the saving counts for both of them, so a reader who added up the amounts would
// get too much.
func OutcomeNote(o replay.Outcome) string {
	switch {
	case o.Cost < leastMoney && o.Gain < leastMoney:
		return ""
	case o.PaidOffAt == 0:
		return fmt.Sprintf("cost %s, did not pay off: later requests saved %s", format.Money(o.Cost), format.Money(o.Gain))
	}
	return fmt.Sprintf("cost %s, paid off at request %d", format.Money(o.Cost), o.PaidOffAt)
}

// A cost or gain below this amount in $ is not mentioned.
const leastMoney = 0.001

// An Excess is a series of consecutive passes whose prompts exceed the window.
type Excess struct {
	First, Last int
	worst       replay.Overflow
}

func Excesses(all []replay.Overflow) (series []Excess) {
	for i := 0; i < len(all); {
		e := Excess{First: all[i].Pass, Last: all[i].Pass, worst: all[i]}
		for i++; i < len(all) && all[i].Pass == e.Last+1; i++ {
			e.Last = all[i].Pass
			if all[i].Prompt > e.worst.Prompt {
				e.worst = all[i]
			}
		}
		series = append(series, e)
	}
	return series
}

// String says which requests exceed the window and how large the largest prompt is, for example "requests 250-258: the
// prompts exceed the window, up to 74,772 of 64,000 tokens".
func (e Excess) String() string {
	if e.First == e.Last {
		return fmt.Sprintf("request %d: the prompt exceeds the window, %s", e.First, e.Size())
	}
	return fmt.Sprintf("requests %d-%d: the prompts exceed the window, up to %s", e.First, e.Last, e.Size())
}

// Size does not round, because the rounded sizes of the prompt and the window could be equal.
func (e Excess) Size() string {
	return format.Grouped(e.worst.Prompt) + " of " + format.Grouped(e.worst.Window) + " tokens"
}
