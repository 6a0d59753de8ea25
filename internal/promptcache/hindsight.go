package promptcache

import (
	"cmp"
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/schema"
)

// A Passage is one request of a finished session. Its places count tokens from the start of the prompt as it
// would be without removals.
type Passage struct {
	// Grown is the number of tokens that the request adds at the end of the prompt.
	Grown int
	// IsGone means that the provider has no part of the prompt in its cache, for example after a long pause or
	// with another model.
	IsGone bool
	// From this request on, a bust may remove the pieces in Ready.
	Ready []Piece
	Price schema.Price
}

type Piece struct {
	// Tokens is the number of tokens by which the prompt gets shorter. If the replacement is longer, for
	// example a summary, Tokens is negative.
	Place, Tokens int
	// If the piece changes, the provider has to write the prompt again from the place From. From is Place, or
	// less if no cached prefix ends there.
	From int
}

// Busts returns the cost of a session that busts directly before each of the given requests. before holds the numbers
// of these requests, counted from 0, in ascending order. A bust removes every piece that is ready by then. The cost is
// the price of the busts and of carrying ready pieces. All other costs do not depend on the times of the busts.
func (h *Hindsight) Busts(before []int) (cost float64) {
	last := -1
	for _, at := range before {
		cost += h.carry(last, at) + h.priceAt(at)(last)
		last = at
	}
	return cost + h.carry(last, len(h.passages))
}

// Best returns the cheapest times for the busts of the session, and their cost. With these times, each prompt
// fits into the limit. If no choice of times achieves that, the cost is infinite.
//
// After a bust, the prompt depends on the time of this bust only. So the cheapest way to a bust at j has three
// parts: the cheapest way to an earlier bust i, the pieces carried in between, and the bust at j.
func (h *Hindsight) Best() (before []int, cost float64) {
	n := len(h.passages)
	best := make([]float64, n+1) // best[n] is the end of the session, at which no bust is paid
	from := make([]int, n+1)
	for j := range best {
		price := h.priceAt(j)
		best[j], from[j] = math.Inf(1), -1
		if h.fits(-1, j) && h.removes(-1, j) {
			best[j] = h.carry(-1, j) + price(-1)
		}
		for i := range j {
			if !h.fits(i, j) || !h.removes(i, j) {
				continue
			}
			if c := best[i] + h.carry(i, j) + price(i); c < best[j] {
				best[j], from[j] = c, i
			}
		}
	}
	for j := from[n]; j >= 0; j = from[j] {
		before = append(before, j)
	}
	slices.Reverse(before)
	return before, best[n]
}

// A Hindsight computes the cost of a finished session with other times for its busts.
type Hindsight struct {
	passages []Passage
	limit    int
	// Each of these slices holds, at index i, a total over the requests before i. grown is the number of tokens
	// that these requests add. ready is the number of tokens in the pieces that become ready, and counts the
	// number of these pieces. rate is the price of carrying one token through these requests, and rent the
	// price of carrying all ready tokens.
	grown, ready, counts []int
	rate, rent           []float64
	// pieces lists all pieces by their place. Each has the request from which on it is ready.
	pieces []readyPiece
}

type readyPiece struct {
	Piece
	at int
}

func byPlace(p readyPiece, place int) int { return cmp.Compare(p.Place, place) }

// limit is the greatest number of tokens in a prompt, or 0 for no limit.
func LookBack(session []Passage, limit int) *Hindsight {
	n := len(session)
	h := &Hindsight{passages: session, limit: limit, grown: make([]int, n+1), ready: make([]int, n+1), counts: make([]int, n+1), rate: make([]float64, n+1), rent: make([]float64, n+1)}
	for i, p := range session {
		h.grown[i+1], h.ready[i+1] = h.grown[i]+p.Grown, h.ready[i]
		h.counts[i+1] = h.counts[i] + len(p.Ready)
		for _, piece := range p.Ready {
			h.ready[i+1] += piece.Tokens
			h.pieces = append(h.pieces, readyPiece{piece, i})
		}
		r := p.Price.Read
		if p.IsGone {
			r = anew(p.Price)
		}
		r /= tokensPerPrice
		h.rate[i+1], h.rent[i+1] = h.rate[i]+r, h.rent[i]+r*float64(h.ready[i+1])
	}
	slices.SortStableFunc(h.pieces, func(a, b readyPiece) int { return byPlace(a, b.Place) })
	return h
}

func anew(p schema.Price) float64 { return max(p.Write, p.Fresh) }

// last and next are the requests of two consecutive busts. removes reports whether the second bust removes something,
// because other busts would only confuse the reader. If next is the end of the session, the answer is true.
func (h *Hindsight) removes(last, next int) bool {
	return next == len(h.passages) || h.counts[next+1] > h.counts[last+1]
}

// fits reports whether the prompts fit into the limit from the bust at last until the bust at next.
func (h *Hindsight) fits(last, next int) bool {
	return h.limit == 0 || h.grown[next]-h.ready[last+1] <= h.limit
}

// carry returns the price of carrying ready pieces in the requests between the busts at last and next.
func (h *Hindsight) carry(last, next int) float64 {
	first := last + 1
	if first >= next {
		return 0
	}
	return h.rent[next] - h.rent[first] - float64(h.ready[first])*(h.rate[next]-h.rate[first])
}

// priceAt returns the price of a bust at a request, as a function of the last bust before: the tokens after the
// first change are written instead of read. A bust that removes nothing is free.
func (h *Hindsight) priceAt(at int) func(last int) float64 {
	if at >= len(h.passages) || h.passages[at].IsGone {
		return func(int) float64 { return 0 }
	}
	removed := make([]int, len(h.pieces)+1) // removed[i] counts the tokens of the ready pieces among the first i
	for i, p := range h.pieces {
		removed[i+1] = removed[i]
		if p.at <= at {
			removed[i+1] += p.Tokens
		}
	}
	// With or without a bust, the tokens that the request itself adds are new.
	size := h.grown[at] - h.ready[at+1]
	kept := make([]int, at+1) // by the number of requests up to the last bust
	least := size
	for i := at; i >= 0; i-- {
		for _, p := range h.passages[i].Ready {
			before, _ := slices.BinarySearchFunc(h.pieces, p.From, byPlace)
			least = min(least, max(0, p.From-removed[before]))
		}
		kept[i] = least
	}
	each := (anew(h.passages[at].Price) - h.passages[at].Price.Read) / tokensPerPrice
	return func(last int) float64 { return float64(max(0, size-kept[last+1])) * each }
}
