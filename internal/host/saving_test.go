package host

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A bust removes 10,000 tokens and makes the provider write 4,000 again. Each later request reads 10,000
// tokens less, until the harness takes messages back.
func TestSavingCountsWhatRequestsDidNotHaveToRead(t *testing.T) {
	usage := func(n int) store.Usage { return store.Usage{CacheRead: n - 5000, CacheWrite: 5000} }
	bust := store.BilledPass{Pass: 2, Verdict: "soft", Bust: true, Removed: 10_000, Resent: 4000, Usage: usage(20_000)}
	later := store.BilledPass{Pass: 3, Verdict: "steady", Usage: usage(21_000)}
	for _, test := range []struct {
		name   string
		passes []store.BilledPass
		window int
		want   saving
	}{
		{"nothing dropped", []store.BilledPass{{Pass: 1, Verdict: "hard", Usage: usage(9000)}}, 100_000, saving{upTo: 1, passes: 1}},
		{"a bust and a request", []store.BilledPass{bust, later}, 100_000, saving{upTo: 3, passes: 2, dropped: 10_000, notRead: 20_000, rewritten: 4000}},
		{"no more is counted than fits into the window", []store.BilledPass{bust, later}, 24_000, saving{upTo: 3, passes: 2, dropped: 10_000, notRead: 7000, rewritten: 4000}},
		{"a prefix that was gone had to be written", []store.BilledPass{{Pass: 2, Verdict: "hard", Bust: true, Removed: 10_000, Resent: 4000, Usage: usage(20_000)}}, 100_000, saving{upTo: 2, passes: 1, dropped: 10_000, notWritten: 10_000}},
		{"the harness takes messages back", []store.BilledPass{bust, {Pass: 3, Verdict: "steady", Bust: true, BustCause: "transcript-changed", Usage: usage(8000)}}, 100_000, saving{upTo: 3, passes: 2, notRead: 10_000, rewritten: 4000}},
		{"a pass without usage drops as well", []store.BilledPass{{Pass: 2, Verdict: "soft", Bust: true, Removed: 10_000, Resent: 4000}, later}, 100_000, saving{upTo: 3, passes: 1, dropped: 10_000, notRead: 10_000}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got saving
			for _, p := range test.passes {
				got = got.add(p, test.window)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	v := saving{notRead: 2_000_000, notWritten: 1_000_000, rewritten: 500_000}
	if got, want := v.money(schema.Price{Fresh: 3, Read: 0.5, Write: 4.5}), 2*0.5+4.5-0.5*4; got != want {
		t.Errorf("%v $, want %v", got, want)
	}
}
