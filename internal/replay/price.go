package replay

import (
	"fmt"
	"math"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// priceOfBust returns the price of a bust that a pass made for its own gain.
func (p *Pass) priceOfBust() schema.BustPrice {
	if !p.Bust || p.Verdict != schema.Soft {
		return schema.BustPrice{} // the prefix was gone before, or an outside cause has cost it
	}
	return p.Price
}

// waits reports whether the pass has weighed a bust and put it off.
func (p *Pass) waits() bool {
	return p.Verdict == schema.Steady && p.Cause == string(pipeline.CausePrice) && p.Price != schema.BustPrice{}
}

// mostPasses is the largest number of passes that is worth printing in full.
const mostPasses = 999

// priceNote returns the price of a pass as a line of at most 74 columns, "" if the pass has weighed
// nothing.
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
