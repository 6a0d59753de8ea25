package promptcache

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/schema"
)

// Reading a token costs $1, and writing it $10.
var tenfold = schema.Price{Fresh: 8e6, Write: 10e6, Read: 1e6}

// The first prompt has 100 tokens, and each later request adds 10. From request 1 on, 40 tokens in the middle are
// useless: 50 tokens precede them, and 10 follow. If a bust at request 1 removes them, the 10 tokens after them must be
// written again instead of read from the cache. That costs $9 more for each of the 10.
func TestHindsight(t *testing.T) {
	useless := Piece{Place: 50, Tokens: 40, From: 50}
	session := func(gone, n int, more ...Piece) []Passage {
		s := []Passage{{Grown: 100, Price: tenfold}, {Grown: 10, Price: tenfold, Ready: []Piece{useless}}, {Grown: 10, Price: tenfold, Ready: more}}
		for len(s) < n {
			s = append(s, Passage{Grown: 10, Price: tenfold})
		}
		for i := range s {
			s[i].IsGone = i == gone
		}
		return s[:n]
	}
	for name, c := range map[string]struct {
		session []Passage
		busts   []int
		cost    float64
		best    []int
		least   float64
		limit   int
	}{
		"carried":                     {session(0, 4), nil, 3 * 40, []int{1}, 10 * 9, 0},
		"removed at once":             {session(0, 4), []int{1}, 10 * 9, []int{1}, 10 * 9, 0},
		"removed late":                {session(0, 4), []int{2}, 40 + 20*9, []int{1}, 10 * 9, 0},
		"too short a session to pay":  {session(0, 3), []int{1}, 10 * 9, nil, 2 * 40, 0},
		"no room for three requests":  {session(0, 3), nil, 2 * 40, []int{1}, 10 * 9, 119},
		"the cache is lost":           {session(2, 4), nil, 40 + 40*10 + 40, []int{2}, 40, 0},
		"nothing is ready":            {session(0, 4), []int{0, 1}, 10 * 9, []int{1}, 10 * 9, 0},
		"two pieces, one after other": {session(0, 4, Piece{Place: 92, Tokens: 5, From: 92}), []int{1, 2}, 10*9 + 13*9, []int{1}, 10*9 + 2*5, 0},
		// At request 2, the prompt has 110 tokens. Without the 45 useless tokens, 65 are left, and the 15 after
		// the first 50 are sent again.
		"two pieces at once": {session(0, 4, Piece{Place: 92, Tokens: 5, From: 92}), []int{2}, 40 + 15*9, []int{1}, 10*9 + 2*5, 0},
		// No cached prefix ends at the second piece, so From is 0, and all 65 remaining tokens are sent again.
		"look-back":               {session(0, 4, Piece{Place: 92, Tokens: 5}), []int{1, 2}, 10*9 + 65*9, []int{1}, 10*9 + 2*5, 0},
		"a summary of 30 instead": {session(0, 4, Piece{Place: 50, Tokens: -30, From: 50}), []int{2}, 40 + (110-10-50)*9, []int{1}, 10*9 - 2*30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := LookBack(c.session, c.limit)
			if got := h.Busts(c.busts); !near(got, c.cost) {
				t.Errorf("busts at %v cost $%f, want $%f", c.busts, got, c.cost)
			}
			busts, least := h.Best()
			if diff := cmp.Diff(c.best, busts); diff != "" || !near(least, c.least) {
				t.Errorf("the best times cost $%f, want $%f (-want +got):\n%s", least, c.least, diff)
			}
		})
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

// The pieces of the session do not overlap.
func drawSession(t *rapid.T, longest int) []Passage {
	price := schema.Price{Fresh: 3e6, Write: 3.75e6, Read: 3e6 * rapid.SampledFrom([]float64{0.1, 0.05, 0.025}).Draw(t, "read")}
	all := rapid.SliceOfN(rapid.IntRange(0, 30), 1, longest).Draw(t, "growth")
	session := make([]Passage, len(all))
	place := 0
	for i, n := range all {
		session[i].Grown, session[i].Price = n, price
		session[i].IsGone = rapid.IntRange(0, 9).Draw(t, "gone") == 0
		size := rapid.IntRange(0, n).Draw(t, "piece")
		if at := i + rapid.IntRange(1, 4).Draw(t, "ready"); size > 0 && at < len(all) {
			start := place + rapid.IntRange(0, n-size).Draw(t, "place")
			session[at].Ready = append(session[at].Ready, Piece{Place: start, Tokens: size, From: start})
		}
		place += n
	}
	return session
}

// replayed computes the cost of the busts in a second, simpler way: it builds every prompt token by token.
func replayed(session []Passage, busts []int) (cost float64) {
	var prompt []int
	next := 0
	useless, waiting := map[int]bool{}, []int{}
	for i, p := range session {
		for _, piece := range p.Ready {
			for n := range piece.Tokens {
				useless[piece.Place+n] = true
				waiting = append(waiting, piece.Place+n)
			}
		}
		if slices.Contains(busts, i) {
			old := prompt
			prompt = slices.DeleteFunc(slices.Clone(old), func(n int) bool { return useless[n] })
			same := 0
			for same < len(prompt) && prompt[same] == old[same] {
				same++
			}
			if !p.IsGone {
				cost += float64(len(prompt)-same) * (p.Price.Write - p.Price.Read)
			}
			waiting = nil
		}
		each := p.Price.Read
		if p.IsGone {
			each = p.Price.Write
		}
		cost += float64(len(waiting)) * each
		for range p.Grown {
			prompt = append(prompt, next)
			next++
		}
	}
	return cost / tokensPerPrice
}

// Best must find the cheapest choice of busts, and the cost that it computes must equal the cost of really sending the
// prompts.
func TestHindsightIsTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := drawSession(t, 9)
		h := LookBack(session, 0)
		best, least := h.Best()
		if got := h.Busts(best); !near(got, least) {
			t.Fatalf("the best times %v cost $%f, and $%f was promised", best, got, least)
		}
		for chosen := range 1 << len(session) {
			var busts []int
			for i := range session {
				if chosen>>i&1 == 1 {
					busts = append(busts, i)
				}
			}
			cost := h.Busts(busts)
			if want := replayed(session, busts); !near(cost, want) {
				t.Fatalf("busts at %v cost $%f, want $%f", busts, cost, want)
			}
			if cost < least-1e-6 {
				t.Fatalf("busts at %v cost $%f, less than the best ones at %v for $%f", busts, cost, best, least)
			}
		}
	})
}

// rentOrBuy decides about each request without knowing the later ones. It busts as soon as the rent since the last
// bust, including the rent of the next request, reaches the price of a bust. If lump is above 0, rentOrBuy also expects
// lumps, as a pass does. A lump is a request that makes at least lump tokens removable at once. rentOrBuy assumes that
// the next lump is as far away as the previous one was, and adds the rent of the requests until then.
func rentOrBuy(h *Hindsight, lump int) (busts []int) {
	last, lumpAt := -1, 0
	for i, p := range h.passages {
		price, rent := h.priceAt(i)(last), h.carry(last, i+1)
		if lump > 0 && h.ready[i+1]-h.ready[i] >= lump {
			rent += (rent - h.carry(last, i)) * float64(i-lumpAt)
			lumpAt = i
		}
		if p.IsGone || price > 0 && rent >= price {
			busts = append(busts, i)
			last = i
		}
	}
	return busts
}

// If all busts have the same price, rentOrBuy costs at most twice as much as the best choice. Before each bust, it has
// paid less rent than the bust costs. In that time, any other choice had to pay either the same rent or a bust.
func TestRentOrBuyIsAtMostTwiceTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Everything that a request adds becomes useless with the next request, and the start of the prompt always
		// stays cached. So each bust sends the same number of tokens again, and all busts have the same price.
		growth := rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 5_000), rapid.IntRange(2_000, 40_000)), 1, 120).Draw(t, "growth")
		start, rest := 1_000, rapid.IntRange(1, 50_000).Draw(t, "rest")
		price := schema.Price{Fresh: 3, Write: 3.75, Read: 3 * rapid.SampledFrom([]float64{0.1, 0.05, 0.025}).Draw(t, "read")}
		session := []Passage{{Grown: start + rest, Price: price}}
		place := start + rest
		for i, n := range growth {
			p := Passage{Grown: n, Price: price, IsGone: rapid.IntRange(0, 30).Draw(t, "gone") == 0}
			if i > 0 {
				p.Ready = []Piece{{Place: place - growth[i-1], Tokens: growth[i-1], From: start}}
			}
			session, place = append(session, p), place+n
		}
		h := LookBack(session, 0)
		busts := rentOrBuy(h, 0)
		_, least := h.Best()
		if cost := h.Busts(busts); cost > 2*least+1e-9 {
			t.Fatalf("busts at %v cost $%f, more than twice the best $%f", busts, cost, least)
		}
		// A pass predicts lumps, and may be wrong. Busts and rent together can then cost more than twice the best
		// choice. But the whole bill cannot be more than twice the best bill, because both also contain the first write
		// of all tokens.
		base := 0.0
		for _, p := range session {
			base += (float64(p.Grown)*p.Price.Write + float64(start+rest)*p.Price.Read) / tokensPerPrice
		}
		if cost := h.Busts(rentOrBuy(h, 2_000)); base+cost > 2*(base+least)+1e-9 {
			t.Fatalf("the bill is $%f, more than twice the best $%f", base+cost, base+least)
		}
	})
}

// Real prompts grow, so later busts cost more than earlier ones. The test prints the worst ratio.
func TestRentOrBuyInGrowingPrompts(t *testing.T) {
	worst := 1.0
	rapid.Check(t, func(t *rapid.T) {
		h := LookBack(drawSession(t, 60), 0)
		_, least := h.Best()
		if cost := h.Busts(rentOrBuy(h, 20)); least > 1e-6 {
			worst = max(worst, cost/least)
		}
	})
	t.Logf("the worst of rent or buy in growing prompts: %.2f times the best times", worst)
}
