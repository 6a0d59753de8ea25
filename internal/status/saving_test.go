package status

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/store"
)

// A bust removes 10,000 tokens and makes the provider write 4,000 tokens again. Each later request then reads 10,000
// tokens less. The saving ends when the harness takes messages back.
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
		{"the user goes back", []store.BilledPass{bust, {Pass: 3, Bust: true, BustCause: "head-reverted", Usage: usage(8000)}}, 100_000, route.Cliff{}, tokens{Read: 10_000 + 4000, Write: -4000}},
		{"a pass without usage drops as well", []store.BilledPass{{Pass: 2, Bust: true, Removed: 10_000, Resent: 4000}, later}, 100_000, route.Cliff{}, tokens{Read: 10_000}},
		// Without the drop, the prompt would have been above the cliff. The request would have read 16,000 + 10,000
		// tokens and written 5,000 tokens, all at twice the price.
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

// A bust for rent removes 10,000 tokens and makes the provider write 4,000 again. A later bust for another
// reason would have removed the same tokens anyway. So the early saving ends with the later bust.
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
	if want := (promptcache.Tokens{Read: 4 * 15_000, Write: 4 * 5000}); v.sent != want {
		t.Errorf("the requests were billed %+v, want %+v", v.sent, want)
	}
}
