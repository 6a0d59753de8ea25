package replay

import (
	"math"
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// This bust removes 6,000 of 9,000 tokens and sends 2,000 of the rest again. At a read price of $1 and a write
// price of $5 per million tokens, it costs 2,000 * $4 / 1M = $0.008. Its own request and each later one save
// 6,000 * $1 / 1M = $0.006. So it has paid off with the second request.
func TestOutcomeOfABust(t *testing.T) {
	price := schema.Price{Fresh: 4, Write: 5, Read: 1}
	pass := func(read, write, rawRead, rawWrite int) *Pass {
		return &Pass{
			Tokens: promptcache.Tokens{Read: read, Write: write}, Raw: promptcache.Tokens{Read: rawRead, Write: rawWrite},
			Sources: Sources{System: 1000}, WindowTokens: 10_100, price: price,
		}
	}
	bust := pass(1000, 3000, 9000, 1000) // the prompt has grown by 1,000 tokens, and none of these is sent again
	bust.Bust, bust.BustCause = true, "pressure"
	s := (&Report{Passes: numbered(pass(8000, 1000, 8000, 1000), bust, pass(4000, 500, 10_000, 500), pass(4500, 0, 10_500, 0))}).Summary()
	want := Outcome{Resent: 2000, Removed: 6000, Cost: 0.008, Gain: 3 * 0.006, PaidOffAt: 3, NeededAt: 3}
	got := s.Busts[0].Outcome
	if math.Abs(got.Cost-want.Cost) > 1e-12 || math.Abs(got.Gain-want.Gain) > 1e-12 {
		t.Errorf("costs %v and gains %v, want %v and %v", got.Cost, got.Gain, want.Cost, want.Gain)
	}
	got.Cost, got.Gain = want.Cost, want.Gain
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// If the user reverts the messages whose content a bust has removed, the bust saves nothing more.
func TestRemovedContentThatTheHarnessTakesBackSavesNothing(t *testing.T) {
	price := schema.Price{Write: 5, Read: 1}
	pass := func(read, rawRead int) *Pass {
		return &Pass{Tokens: promptcache.Tokens{Read: read}, Raw: promptcache.Tokens{Read: rawRead}, price: price}
	}
	bust := pass(4000, 10_000)
	bust.Bust = true
	s := (&Report{Passes: numbered(pass(10_000, 10_000), bust, pass(4000, 4000), pass(4000, 4000))}).Summary()
	if got, want := s.Busts[0].Outcome.Gain, 0.006; math.Abs(got-want) > 1e-12 {
		t.Errorf("gains %v, want %v: that of its own request", got, want)
	}
}
