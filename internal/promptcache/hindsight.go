package promptcache

import (
	"cmp"
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/schema"
)

// A Passage is one request of a finished session. Places in the prompt are counted in tokens from its start, as if
// nothing had been removed.
type Passage struct {
	// Grown is the number of tokens that the request adds at the end of the prompt.
	Grown int
	// IsGone means that the provider has no part of the prompt in its cache, for example after a long pause or
	// with another model.
	IsGone bool
	// Ready lists the pieces that become removable with this request. A bust at this request or at any later one may
	// remove them.
	Ready []Piece
	Price schema.Price
}

type Piece struct {
	// Tokens is the number of tokens by which the prompt gets shorter. If a longer text replaces the piece, for example a
	// summary, Tokens is negative.
	Place, Tokens int
	// If the piece is removed, the provider has to write the prompt again, beginning at From. If no cached prefix ends
	// exactly at Place, From is less than Place.
	From int
}

// Busts returns the cost of a session that busts directly before the given requests. `before` lists the indices of
// these requests in ascending order. Each bust removes all pieces that are ready. The cost is the price of the busts,
// plus the price of reading ready pieces until they are removed. It leaves out all other costs of the session, because
// they do not depend on the busts.
func (h *Hindsight) Busts(before []int) (cost float64) {
	last := -1
	for _, at := range before {
		cost += h.carry(last, at) + h.priceAt(at)(last)
		last = at
	}
	return cost + h.carry(last, len(h.passages))
}

// Best finds the requests before which the session should bust so that its cost is lowest. It returns these requests
// and the cost. Each prompt must fit into the limit. If that is impossible, the cost is infinite.
//
// After a bust, the prompt depends only on when this bust happened. So the lowest cost up to a bust at j is a minimum
// over all possible previous busts i. For each i, it is the sum of three costs: the lowest cost up to i, the price of
// carrying the pieces from i to j, and the price of the bust at j.
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

// A Hindsight computes what a finished session would have cost with busts at other times.
type Hindsight struct {
	passages []Passage
	limit    int
	// These slices hold running totals: element i is the total over all requests before request i. `grown` is the
	// number of added tokens. `ready` is the number of tokens that have become removable, and `counts` is the number of
	// pieces that contain these tokens. `rate` is the price of reading one token in each of these requests. `rent` is
	// the price of reading all ready tokens.
	grown, ready, counts []int
	rate, rent           []float64
	// `pieces` lists all pieces in the order of their places. readyPiece.at is the first request at which the piece is
	// ready.
	pieces []readyPiece
}

type readyPiece struct {
	Piece
	at int
}

func byPlace(p readyPiece, place int) int { return cmp.Compare(p.Place, place) }

// LookBack prepares the computation for a session. `limit` is the largest allowed size of a prompt in tokens, or 0 for
// no limit.
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

// The method `removes` reports whether a bust before the request `next` would remove a piece, if the previous bust was
// before the request `last`. Best skips a bust that removes nothing, because it would only confuse the reader. The end
// of the session (`next` is the number of passages) always counts.
func (h *Hindsight) removes(last, next int) bool {
	return next == len(h.passages) || h.counts[next+1] > h.counts[last+1]
}

// The method `fits` reports whether all prompts between the bust at `last` and the bust at `next` fit into the limit.
func (h *Hindsight) fits(last, next int) bool {
	return h.limit == 0 || h.grown[next]-h.ready[last+1] <= h.limit
}

// The method `carry` returns the price of reading the ready pieces in the requests between the bust at `last` and the
// bust at `next`.
func (h *Hindsight) carry(last, next int) float64 {
	first := last + 1
	if first >= next {
		return 0
	}
	return h.rent[next] - h.rent[first] - float64(h.ready[first])*(h.rate[next]-h.rate[first])
}

// priceAt returns a function that maps the previous bust to the price of a bust at the request `at`. Because of the
// bust, the provider writes the tokens after the first change, instead of reading them from its cache. If the bust
// removes nothing, its price is 0.
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
	// The request itself adds tokens that are new in any case, so they are not part of the bust's price.
	size := h.grown[at] - h.ready[at+1]
	kept := make([]int, at+1) // kept[n] is the prefix that stays cached if the previous bust was at n-1
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
