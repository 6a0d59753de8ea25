package report

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/schema"
)

// PriceNote returns the price of a pass as a line of at most 74 columns, "" if
// the pass has weighed nothing.
func PriceNote(p *replay.Pass) string {
	switch {
	case p.Waits():
		return "waits: " + view.Price(p.Price)
	case p.PriceOfBust() != schema.BustPrice{}:
		return view.Price(p.Price)
	}
	return ""
}

// lostNote returns the thinking that busts have cost, "" if there is none.
func lostNote(blocks, tokens int) string {
	if blocks == 0 {
		return ""
	}
	return fmt.Sprintf("cost %s of thinking, about %s tokens", format.Count(blocks, "block"), format.Tokens(tokens))
}

// ReadShare returns the share of the prompts that came from the cache, "-" if
// there was no prompt.
func ReadShare(t replay.Tokens) string {
	if t.Fresh+t.Written+t.Read == 0 {
		return "-"
	}
	return format.FinePercent(t.ReadShare())
}

// OutcomeNote returns what a bust has cost and gained in the end, as a line of at
// most 62 columns. It returns "" if the bust has done neither.
func OutcomeNote(o replay.Outcome) string {
	switch {
	case o.Cost == 0 && o.Gain == 0:
		return ""
	case o.Cost == 0:
		return "cost nothing, saved " + format.Money(o.Gain)
	case o.PaidOffAt == 0:
		return fmt.Sprintf("cost %s, saved %s, did not pay off", format.Money(o.Cost), format.Money(o.Gain))
	}
	return fmt.Sprintf("cost %s, saved %s, paid off at pass %d", format.Money(o.Cost), format.Money(o.Gain), o.PaidOffAt)
}

// An OverflowNote describes prompts of consecutive passes that exceed the window.
type OverflowNote struct {
	// Pass is the first of the passes.
	Pass int
	Text string
}

// OverflowNotes returns one note for each series of consecutive passes.
func OverflowNotes(all []replay.Overflow) (notes []OverflowNote) {
	for i := 0; i < len(all); {
		j, worst := i+1, all[i]
		for j < len(all) && all[j].Pass == all[j-1].Pass+1 {
			if all[j].Prompt > worst.Prompt {
				worst = all[j]
			}
			j++
		}
		text := fmt.Sprintf("pass %d: the prompt exceeds the window, %s", all[i].Pass, sizeNote(worst))
		if j-i > 1 {
			text = fmt.Sprintf("passes %d-%d: the prompts exceed the window, up to %s", all[i].Pass, all[j-1].Pass, sizeNote(worst))
		}
		notes = append(notes, OverflowNote{all[i].Pass, text})
		i = j
	}
	return notes
}

// sizeNote returns the size of a prompt that exceeds the window in full, because
// rounded the two may be equal.
func sizeNote(o replay.Overflow) string {
	return format.Grouped(o.Prompt) + " of " + format.Grouped(o.Window) + " tokens"
}
