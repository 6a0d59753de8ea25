package host

import (
	"fmt"
	"math"
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A bust removes 10,000 tokens and makes the provider write 4,000 again. Each later request reads 10,000
// tokens less, until the harness takes messages back.
func TestSavingCountsWhatRequestsDidNotHaveToRead(t *testing.T) {
	usage := func(n int) store.Usage { return store.Usage{CacheRead: n - 5000, CacheWrite: 5000} }
	bust := store.BilledPass{Pass: 2, Bust: true, Removed: 10_000, Resent: 4000, Usage: usage(20_000)}
	later := store.BilledPass{Pass: 3, Usage: usage(21_000)}
	type tokens = promptcache.Tokens
	for _, test := range []struct {
		name   string
		passes []store.BilledPass
		window int
		cliff  route.Cliff
		want   tokens
	}{
		{"nothing dropped", []store.BilledPass{{Pass: 1, Usage: usage(9000)}}, 100_000, route.Cliff{}, tokens{}},
		{"a bust and a request", []store.BilledPass{bust, later}, 100_000, route.Cliff{}, tokens{Read: 20_000 + 4000, Write: -4000}},
		{"no more is counted than fits into the window", []store.BilledPass{bust, later}, 24_000, route.Cliff{}, tokens{Read: 7000 + 4000, Write: -4000}},
		{"a prefix that was gone had to be written", []store.BilledPass{{Pass: 2, Cause: "idle", Bust: true, Removed: 10_000, Resent: 4000, Usage: usage(20_000)}}, 100_000, route.Cliff{}, tokens{Write: 10_000}},
		{"the harness takes messages back", []store.BilledPass{bust, {Pass: 3, Bust: true, BustCause: "transcript-changed", Usage: usage(8000)}}, 100_000, route.Cliff{}, tokens{Read: 10_000 + 4000, Write: -4000}},
		{"a pass without usage drops as well", []store.BilledPass{{Pass: 2, Bust: true, Removed: 10_000, Resent: 4000}, later}, 100_000, route.Cliff{}, tokens{Read: 10_000}},
		// Without the drop, the request would have read 16,000 + 10,000 and written 5,000 tokens, all at twice the price.
		{"the prompt stays below a cliff", []store.BilledPass{{Pass: 2, Bust: true, Removed: 10_000}, later}, 100_000, route.Cliff{Above: 30_999, Factor: 2}, tokens{Read: 2*26_000 - 16_000, Write: 2*5000 - 5000}},
		{"the cliff is further up", []store.BilledPass{{Pass: 2, Bust: true, Removed: 10_000}, later}, 100_000, route.Cliff{Above: 31_000, Factor: 2}, tokens{Read: 10_000}},
		{"above the cliff in any case", []store.BilledPass{{Pass: 2, Bust: true, Removed: 10_000}, later}, 100_000, route.Cliff{Above: 9000, Factor: 5}, tokens{Read: 5 * 10_000}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := saving{window: test.window, cliff: test.cliff}
			for _, p := range test.passes {
				got = got.add(p)
			}
			if got.spared != test.want {
				t.Errorf("got %+v, want %+v", got.spared, test.want)
			}
		})
	}
}

// A bust for rent removes 10,000 tokens and makes the provider write 4,000 again. What it saves counts as removed early
// until a bust for another reason would have removed the same.
func TestSavingOfWhatIsRemovedEarly(t *testing.T) {
	usage := store.Usage{CacheRead: 15_000, CacheWrite: 5000}
	var v saving
	v.window = 100_000
	for _, p := range []store.BilledPass{
		{Pass: 2, Cause: "rent", Bust: true, Removed: 10_000, Resent: 4000, Usage: usage},
		{Pass: 3, Usage: usage},
		{Pass: 4, Cause: "pressure", Bust: true, Removed: 3000, Resent: 4000, Usage: usage},
		{Pass: 5, Usage: usage},
	} {
		v = v.add(p)
	}
	if want := (promptcache.Tokens{Read: 2*10_000 + 4000, Write: -4000}); v.earlySpared != want {
		t.Errorf("got %+v, want %+v", v.earlySpared, want)
	}
}

// Nothing but the historian's head has shortened the prompts. This saved nothing by an older estimate, which
// counted only the busts that dropped something, and left out what the historian costs.
func TestSavingCountsTheHead(t *testing.T) {
	h := answering(t, good)
	h.limits.Price = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}
	h.restart()
	h.host.Summarises = true
	h.talkLong() // the historian has read 12,000 tokens and written 100
	before := h.journal()[0].WireTokens
	h.flush()
	h.pass()
	const later = 60
	for i := range later {
		h.clock.Advance(1000)
		h.tool(fmt.Sprintf("b%d", i), "x", "tool-calls", 0)
		h.pass()
	}
	journal := h.journal()
	bust := journal[1]
	removed := float64(before - bust.WireTokens)
	if !bust.Bust || bust.Cause != "flush" || bust.EditsAdded > 0 || removed < 5000 {
		t.Fatalf("no bust for the head alone: %+v, %.0f tokens removed", bust, removed)
	}
	for _, p := range journal {
		input, read := 10, p.WireTokens-10
		if p.Pass <= 2 { // the first request writes the whole prompt; the bust writes what follows its system prompt again
			input, read = p.WireTokens, 0
		}
		if err := h.store.SaveUsage(t.Context(), testKey, p.Pass, input, read, 0); err != nil {
			t.Fatal(err)
		}
	}
	// The request of the bust and the later ones, without the newest, do not read the removed tokens, at $0.30
	// for a million. The bust writes its whole prompt, at $3.75 instead of $0.30.
	notRead := removed * later * 0.30
	rewritten := float64(bust.WireTokens) * (3.75 - 0.30)
	historian := 12_000*3.0 + 100*15.0
	want := (notRead - rewritten - historian) / 1e6
	st := h.status()
	got := st.Sessions[0].Saved
	if got == nil || math.Abs(got.Money-want) > 0.02*(notRead+rewritten)/1e6 {
		t.Errorf("saved %+v, want about %.5f $ (%.0f tokens removed)", got, want, removed)
	}
	if st.Saved == nil || got != nil && *st.Saved != *got {
		t.Errorf("the sum of the only session is %+v, the session has %+v", st.Saved, got)
	}
}
