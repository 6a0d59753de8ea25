package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// PriceOfBust returns the price at which the pass decided to bust. If the pass had no choice, because the prefix was
// lost anyway, or if it is no bust, the price is zero.
func (p *Pass) PriceOfBust() schema.BustPrice {
	if !p.Bust || p.Verdict != schema.Soft {
		return schema.BustPrice{} // the prefix was already gone, or the harness has changed it
	}
	return p.Price
}

// Waits reports whether the pass decided against a bust because of its price.
func (p *Pass) Waits() bool {
	return p.Verdict == schema.Steady && p.Cause == string(pipeline.CausePrice) && p.Price != schema.BustPrice{}
}

// readSavings takes the savings from the host, so that a replay and a status show the same figures.
func (p *player) readSavings(ctx context.Context) error {
	for id, ses := range p.sessions {
		if ses.passes == 0 {
			continue
		}
		st, err := p.host.SessionStatus(ctx, nil, schema.SessionStatusParams{Harness: p.trace.harness, Session: id})
		if err != nil {
			return fmt.Errorf("saving of session %s: %w", id, err)
		}
		if st.Saved != nil {
			p.report.saved[id] = *st.Saved
		}
		if len(st.Removals) > 0 {
			p.report.regrets[id] = Regret{st.Removals, st.RereadCost}
		}
	}
	return nil
}

// Regret returns the removals of all sessions by rule and cause, the largest first, with the price of the
// tokens that were read again.
func (s Summary) Regret() (sum Regret) {
	for _, id := range slices.Sorted(maps.Keys(s.Regrets)) {
		sum.Cost += s.Regrets[id].Cost
		for _, r := range s.Regrets[id].Removals {
			i := slices.IndexFunc(sum.Removals, func(o schema.Removal) bool { return o.Rule == r.Rule && o.Cause == r.Cause })
			if i < 0 {
				sum.Removals = append(sum.Removals, r)
				continue
			}
			o := &sum.Removals[i]
			o.Tokens, o.Rereads, o.Reread = o.Tokens+r.Tokens, o.Rereads+r.Rereads, o.Reread+r.Reread
		}
	}
	slices.SortStableFunc(sum.Removals, func(a, b schema.Removal) int { return b.Tokens - a.Tokens })
	return sum
}

// Cost returns Bill plus the cost of the historian's runs.
func (s Summary) Cost() float64 {
	v, _ := s.Saving()
	return s.Bill + v.Historian
}

// Saving returns the sum of the sessions' savings. If the models have no price in the trace, no saving is known,
// and ok is false.
func (s Summary) Saving() (sum schema.Saving, ok bool) {
	for _, id := range slices.Sorted(maps.Keys(s.Saved)) { // in a fixed order, because the sum of fractions depends on it
		v := s.Saved[id]
		sum.Money, sum.Historian, sum.Passes = sum.Money+v.Money, sum.Historian+v.Historian, sum.Passes+v.Passes
	}
	return sum, len(s.Saved) > 0
}
