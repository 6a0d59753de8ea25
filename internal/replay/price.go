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

// mostPasses is the number of passes beyond which nobody wants to know it.
const mostPasses = 999

// priceNote tells the price of a pass in a line of at most 74 columns, "" when
// it has none to tell.
func priceNote(p *Pass) string {
	switch {
	case p.waits():
		return "waits: " + priceText(p.Price)
	case p.priceOfBust() != schema.BustPrice{}:
		return priceText(p.Price)
	}
	return ""
}

func priceText(b schema.BustPrice) string {
	text := fmt.Sprintf("re-sends %s, removes %s", axisCount(b.Resent), axisCount(b.Removed))
	switch n := math.Ceil(b.BreakEven); {
	case b.Removed == 0:
		return text
	case n <= 0:
		return text + ", pays off at once"
	case n == 1:
		return text + fmt.Sprintf(", pays off after 1 pass of %d", b.Forecast)
	case n > mostPasses:
		return text + fmt.Sprintf(", pays off after %d+ passes of %d", mostPasses, b.Forecast)
	default:
		return text + fmt.Sprintf(", pays off after %.0f passes of %d", n, b.Forecast)
	}
}
