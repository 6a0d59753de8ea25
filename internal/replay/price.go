package replay

import (
	"fmt"
	"math"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// priceOfBust is the price of a pass that busts of our own accord.
func (p *Pass) priceOfBust() schema.BustPrice {
	if !p.Bust || p.Verdict != schema.Soft {
		return schema.BustPrice{} // the prefix was gone before, or something else has cost it
	}
	return p.Price
}

// waits reports whether a bust was weighed and put off.
func (p *Pass) waits() bool {
	return p.Verdict == schema.Steady && p.Cause == string(pipeline.CausePrice) && p.Price != schema.BustPrice{}
}

// priceNote tells the price of a pass in a line of at most 74 columns, "" when
// it has none to tell.
func priceNote(p *Pass) string {
	switch {
	case p.waits():
		return "waits: would " + priceText("re-send", "remove", p.Price)
	case p.priceOfBust() != schema.BustPrice{}:
		return priceText("re-sends", "removes", p.Price)
	}
	return ""
}

func priceText(sends, removes string, b schema.BustPrice) string {
	text := fmt.Sprintf("%s %s, %s %s", sends, count(b.Resent), removes, count(b.Removed))
	switch n := int(math.Ceil(b.BreakEven)); {
	case b.Removed == 0:
		return text
	case n <= 0:
		return text + ", pays off at once"
	default:
		return text + fmt.Sprintf(", pays off after %s of %s", plural(n, "pass", "passes"), count(b.Forecast))
	}
}
