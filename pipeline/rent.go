package pipeline

import "github.com/magicctx/magicctx-host/schema"

// A Rent counts what a session has paid for content that a bust could have removed. Each request reads this content
// again, which adds to the rent. When the rent has reached the price of a bust, the session makes the bust
// (docs/decisions.md).
//
// All sums are multiples of the price of reading one token from the cache. A bust writes tokens that would otherwise be
// read, so its price is the difference. For example, if writing a token costs 1.25 and reading a token costs 0.1, a
// bust that writes 1,000 tokens again costs 1,000 · (1.25 − 0.1) / 0.1 = 11,500.
type Rent struct {
	// Paid is the rent for removable content since the last bust.
	Paid int
	// Coverable is the rent for messages that a summary could replace, since the last change of the head. When the
	// summary is published, Coverable is added to Paid.
	Coverable int
	// Removable is the number of tokens that a bust would remove, by the newest estimate. Queued is the number of these
	// tokens that belong to queued drops. Messages is the number of messages at the time of the estimate.
	Removable, Queued, Messages int
	// Price is the price that the bust had when the last lump of at least leastRemoved tokens came. A later estimate
	// replaces it only if it is lower. While the session waits, the price rises, but a higher price must not make the
	// session wait even longer. GrewAt is the number of the pass on which the lump came.
	Price, GrewAt int
}

// leastRemoved is the minimum number of tokens that a bust for rent removes. A smaller bust would save almost nothing,
// but would still bother the user, because the host reports each bust.
const leastRemoved = 2000

// Mid-turn, the session makes an estimate only every estimateEvery messages, because an estimate reads the whole
// transcript.
const estimateEvery = 24

// costOf returns the price of the bust, as a number of tokens read from the cache. It also counts bound thinking that
// the bust invalidates, because the model has to think again.
func costOf(b schema.BustPrice, p schema.Price) int {
	if p.Read <= 0 || p.Write <= 0 {
		p = TypicalPrice
	}
	return int((p.Write - p.Read) / p.Read * float64(b.Resent+b.Thinking))
}

// The method `meter` adds the rent of this request, and returns the new sums. The caller uses them only if the pass is
// steady, because a bust resets the sums.
func (s *Session) meter(a Assessment, r Readings) Rent {
	m := s.Meta.Rent
	removable := max(0, m.Removable+int(a.perToken*float64(s.queued()))-m.Queued)
	over := overCliff(a.Size.Current, removable, r)
	m.Paid += removable + over
	if r.WorkingSet > 0 {
		coverable := int(a.perToken * float64(max(0, s.uncovered(r)-r.WorkingSet)))
		m.Coverable += coverable + overCliff(a.Size.Current, removable+coverable, r) - over
	}
	return m
}

// Above a cliff, a provider charges higher prices for the whole prompt (route.Cliff). overCliff returns the part of the
// additional cost that the removable content causes. If the prompt without this content is below the cliff, that is the
// whole additional cost.
func overCliff(size, removable int, r Readings) int {
	rest := size - removable
	return int((r.Route.Cliff.At(size)-1)*float64(size) - (r.Route.Cliff.At(rest)-1)*float64(rest))
}

func (s *content) queued() int {
	tokens := 0
	for _, q := range s.State.Queue() {
		if u := s.State.ByTag(q.Tag); u != nil && s.Has(u.MessageKey) {
			tokens += u.Left()
		}
	}
	return tokens
}

func (s *content) uncovered(r Readings) int {
	first := s.coveredBy(s.State.Head)
	if r.History != nil {
		if standing := s.unreverted(r.History); len(standing) > 0 {
			if i, ok := s.index[standing[len(standing)-1].EndKey()]; ok {
				first = max(first, i+1)
			}
		}
	}
	tokens := 0
	for i := first; i < len(s.entries); i++ {
		tokens += s.entries[i].own
	}
	return tokens
}

// The method `buy` proposes a bust if the rent has reached the price of the bust. Otherwise it returns false. It also
// stores the new sums in a.Rent, unless the pass already has another cause.
func (s *Session) buy(a *Assessment, r Readings, limit int) (Decision, bool) {
	if a.Cause != CauseNone && a.Cause != CauseMidTurn {
		return Decision{}, false
	}
	a.Rent = s.meter(*a, r)
	hasNews := s.hasNews(r)
	queued := int(a.perToken * float64(s.queued()))
	isDue := r.BuysForRent && a.Rent.paid(hasNews) >= a.Rent.Price && (a.Rent.Price > 0 || hasNews)
	if s.isMidTurn() && queued == a.Rent.Queued && len(s.entries) < a.Rent.Messages+estimateEvery && !isDue {
		return Decision{}, false
	}
	would := *a
	would.Verdict, would.Cause = schema.Soft, CauseRent
	d := s.propose(would, r, limit, 0)
	rent := a.Rent.paid(hasNews)
	isLump := d.Price.Removed >= a.Rent.Removable+leastRemoved
	if isLump {
		// A lump has just come, so now is a good moment for the bust, which also removes the lump. The next good moment
		// comes with the next lump, which will probably take as many passes as this one took. Waiting would cost the
		// rent of all these passes, so this rent counts in advance.
		rent += d.Price.Removed * (s.Meta.Passes - a.Rent.GrewAt)
		a.Rent.GrewAt = s.Meta.Passes
	}
	a.Rent.Price = a.Rent.priceAfter(d.Price, isLump)
	a.Rent.Removable, a.Rent.Queued, a.Rent.Messages = d.Price.Removed, queued, len(s.entries)
	if !r.BuysForRent || d.Verdict == schema.Steady || a.Rent.Removable < leastRemoved || rent < a.Rent.Price || !d.Price.PaysOff() {
		return Decision{}, false
	}
	d.Rent, d.Price.Rent = a.Rent, rent
	return d, true
}

// priceAfter returns the new value of Price. It ignores a bust that removes less than leastRemoved, because such a bust
// is never made.
func (m Rent) priceAfter(b schema.BustPrice, isLump bool) int {
	if b.Removed >= leastRemoved && (isLump || m.Price == 0 || b.Cost < m.Price) {
		return b.Cost
	}
	return m.Price
}

// hasNews means that the bust would show new summaries.
func (m Rent) paid(hasNews bool) int {
	if hasNews {
		return m.Paid + m.Coverable
	}
	return m.Paid
}

func (m Rent) after(d Decision) Rent {
	switch {
	case d.Verdict == schema.Steady:
		return m
	case d.Head != nil:
		return Rent{GrewAt: m.GrewAt}
	}
	return Rent{Coverable: m.Coverable, GrewAt: m.GrewAt}
}

// RunBudget returns how much a run of the historian may cost now, as a number of tokens read from the cache. This is
// the rent that the session has paid for the messages before the working set, minus the price of the bust that will
// show their summary. `workingSet` is in tokens. While a summary waits for its bust, RunBudget returns -1, so that no
// other run begins for rent.
func (s *Session) RunBudget(published *History, workingSet int, p schema.Price) int {
	if len(s.standing(published)) > s.State.Head.Shows() {
		return -1
	}
	return max(-1, s.Meta.Rent.Coverable-costOf(schema.BustPrice{Resent: workingSet}, p))
}
