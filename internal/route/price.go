package route

import "github.com/magicctx/magicctx-host/schema"

// Price completes a catalogue's prices for a model. If the price of reading or writing is missing or zero, it becomes
// the route's factor times the price of fresh tokens. If the catalogue has no prices at all, the result contains the
// factors instead. This is enough, because the price of a bust depends only on ratios.
func (r Route) Price(p schema.Price) schema.Price {
	if p.Fresh <= 0 {
		switch {
		case p.Write > 0:
			p.Fresh = p.Write / r.quotedWrite()
		case p.Read > 0:
			p.Fresh = p.Read / r.Read
		default:
			p.Fresh = 1
		}
	}
	switch {
	case p.Write > 0 && r.quoted > 0: // catalogues quote the write price for the default life
		p.Write *= r.Write / r.quoted
	case p.Write > 0:
	case p.Read > 0 && r.Name == unknown:
		p.Write = p.Fresh // if a catalogue quotes only a read price, we assume that the unknown provider charges nothing extra for writing
	default:
		p.Write = p.Fresh * r.Write
	}
	if p.Read <= 0 {
		p.Read = p.Fresh * r.Read
	}
	return p
}

func (r Route) quotedWrite() float64 {
	if r.quoted > 0 {
		return r.quoted
	}
	return r.Write
}
