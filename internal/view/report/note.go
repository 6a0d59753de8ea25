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
