package pipeline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
)

// The expected values are worked out by hand.
func TestBreakEven(t *testing.T) {
	perMillion := schema.Price{Fresh: 3, Write: 3.75, Read: 0.30}
	for _, c := range []struct {
		name            string
		price           schema.Price
		resent, removed int
		want            float64
	}{
		{"11.5 times half as much removed as sent again", quarterAndTenth, 10_000, 5_000, 22},
		{"the unit of the price does not matter", perMillion, 10_000, 5_000, 22},
		{"as much removed as the write costs", quarterAndTenth, 1_000, 11_500, 0},
		{"nothing to send again pays off at once", quarterAndTenth, 0, 5_000, -1},
		{"reading costs what writing does", schema.Price{Write: 1, Read: 1}, 10_000, 5_000, -1},
		{"half a token more to write", schema.Price{Write: 1.5, Read: 1}, 10_000, 5_000, 0},
		{"nothing removed", quarterAndTenth, 10_000, 0, 0},
		{"reading is free", schema.Price{Write: 1}, 10_000, 5_000, 0},
	} {
		if got := breakEven(c.price, c.resent, c.removed); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPaysOff(t *testing.T) {
	for _, c := range []struct {
		price schema.BustPrice
		want  bool
	}{
		{schema.BustPrice{Removed: 1, BreakEven: 5, Forecast: 5}, true},
		{schema.BustPrice{Removed: 1, BreakEven: 5.01, Forecast: 5}, false},
		{schema.BustPrice{Removed: 1, BreakEven: -1}, true},
		{schema.BustPrice{Removed: 0, BreakEven: 0, Forecast: 5}, false},
	} {
		if got := c.price.PaysOff(); got != c.want {
			t.Errorf("%+v: %v", c.price, got)
		}
	}
}

func hundreds(t *testing.T, n int) *world {
	w := newWorld(t, true, 1)
	for i := range n {
		w.add(message(fmt.Sprintf("u%d", i), "user", w.now, nil, textPart(fmt.Sprintf("p%d", i), strings.Repeat("abc ", 100))))
	}
	w.pass()
	return w
}

func TestPriceOfABust(t *testing.T) {
	for _, c := range []struct {
		name                    string
		messages, first         int
		breakpoints, removed    int
		passes, current, forced int
		resent, forecast        int
	}{
		{"everything after the change is sent again, without the removed part", 10, 7, 4, 50, 1, 0, 1000, 250, 20},
		{"twenty messages after it, a breakpoint is found again", 30, 10, 4, 50, 1, 0, 1000, 1950, 20},
		{"with more nothing is found but the system prompt", 30, 9, 4, 50, 1, 0, 1000, 2950, 20},
		{"a provider that caches by itself finds everything", 30, 9, 0, 50, 1, 0, 1000, 2050, 20},
		{"more removed than is there", 10, 9, 4, 5000, 1, 0, 1000, 0, 20},
		{"a long session is expected to go on", 10, 7, 4, 50, 300, 0, 1000, 250, 300},
		{"until space has to be freed anyway", 10, 7, 4, 50, 300, 995, 1000, 250, 5},
		{"which may be now", 10, 7, 4, 50, 300, 2000, 1000, 250, 0},
	} {
		w := hundreds(t, c.messages)
		w.session.Meta.Passes = c.passes
		got := w.session.price(
			bust{firstMessage: c.first, edited: c.removed, current: c.current, forcedAt: c.forced, breakpoints: c.breakpoints},
			Readings{Price: quarterAndTenth, Route: route.Named("anthropic")},
		)
		if got.Resent != c.resent || got.Removed != c.removed || got.Forecast != c.forecast {
			t.Errorf("%s: %+v, want %d resent, forecast %d", c.name, got, c.resent, c.forecast)
		}
		if want := 11.5*float64(c.resent)/float64(c.removed) - 1; math.Abs(got.BreakEven-want) > 1e-9 {
			t.Errorf("%s: break-even %v, want %v", c.name, got.BreakEven, want)
		}
	}
}

// The session has had 300 passes, and each pass adds one token. The summary of the second case frees 40 tokens, so the
// next bust is expected 40 passes later.
func TestASummaryPutsTheNextBustOff(t *testing.T) {
	w := hundreds(t, 10)
	w.session.Meta.Passes = 300
	for _, c := range []struct {
		head headChange
		want int
	}{
		{headChange{}, 5},
		{headChange{head: &frozen.Head{}, covered: 4, freed: 40}, 45},
	} {
		got := w.session.price(bust{firstMessage: 7, edited: 20, head: c.head, current: 995, forcedAt: 1000, breakpoints: 4}, Readings{Price: quarterAndTenth, Route: route.Named("anthropic")})
		if got.Forecast != c.want {
			t.Errorf("freed by the head %d: %d passes expected, want %d", c.head.freed, got.Forecast, c.want)
		}
	}
}

// Fixed bug: the host weighed a bust that would remove only 1,559 tokens. It did not make this bust, because that is
// too little, but it stored the price. When the rent reached this price, the host made a different bust, which removed
// 2,798 tokens and cost five times as much.
func TestSmallEstimateSetsNoPrice(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int
		found  schema.BustPrice
		isLump bool
		want   int
	}{
		{"too small to be made", 0, schema.BustPrice{Removed: leastRemoved - 1, Cost: 700}, false, 0},
		{"too small, and cheaper than the known one", 900, schema.BustPrice{Removed: leastRemoved - 1, Cost: 700}, false, 900},
		{"the first one", 0, schema.BustPrice{Removed: leastRemoved, Cost: 900}, false, 900},
		{"dearer, because the session has waited", 900, schema.BustPrice{Removed: leastRemoved, Cost: 1000}, false, 900},
		{"cheaper", 900, schema.BustPrice{Removed: leastRemoved, Cost: 800}, false, 800},
		{"a lump", 900, schema.BustPrice{Removed: 2 * leastRemoved, Cost: 1000}, true, 1000},
	} {
		if got := (Rent{Price: c.before}).priceAfter(c.found, c.isLump); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
