package words

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestPrice(t *testing.T) {
	for want, price := range map[string]schema.BustPrice{
		"re-sends 12.9k, removes 9.8k, pays off in 3 requests, about 41 to come":                                                                          {Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41},
		"re-sends 1k, removes 9.8k, pays off in 2 requests, about 41 to come; in tokens read from the cache, carrying it costs 11.9k, and the bust 11.5k": {Resent: 1000, Removed: 9800, BreakEven: 1.2, Forecast: 41, Rent: 11_900, Cost: 11_500},
		"re-sends 700, removes 80, pays off in 999+ requests, about 4 to come":                                                                            {Resent: 700, Removed: 80, BreakEven: 5000, Forecast: 4},
		"re-sends 0, removes 80, pays off at once":                                                                                                        {Removed: 80},
		"re-sends 700, removes 0, never pays off":                                                                                                         {Resent: 700, BreakEven: 3},
		"re-sends 16.6k, adds 21, never pays off":                                                                                                         {Resent: 16_600, Removed: -21}, // the text was once "removes -21, pays off at once"
	} {
		if got := Price(price); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
