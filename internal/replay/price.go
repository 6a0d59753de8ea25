package replay

import (
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// PriceOfBust returns the price of a bust that the pass chose for its gain. It is zero for any other pass.
func (p *Pass) PriceOfBust() schema.BustPrice {
	if !p.Bust || p.Verdict != schema.Soft {
		return schema.BustPrice{} // the prefix was already gone, or something outside has cost it
	}
	return p.Price
}

// Waits reports whether the pass weighed a bust and put it off.
func (p *Pass) Waits() bool {
	return p.Verdict == schema.Steady && p.Cause == string(pipeline.CausePrice) && p.Price != schema.BustPrice{}
}
