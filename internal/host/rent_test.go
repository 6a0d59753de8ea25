package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// rented is a session in a window of 1M, whose model has asked to drop the first tags up to one. Each of its
// steps reads an output of a thousand words, in one long turn.
func rented(t *testing.T, spending schema.Spending, steps, dropped int) *harness {
	h := newHarness(t)
	h.config.Spending = spending
	h.config.ProtectedTags = 4
	h.limits = schema.ModelLimits{ContextTokens: 1_000_000, NPM: "@ai-sdk/anthropic", Price: schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}}
	h.restart() // a host reads the configuration once
	h.user("u1", "read everything")
	h.pass()
	for i := range steps {
		h.step(i)
	}
	if dropped > 0 {
		h.drop("c1", fmt.Sprintf("2-%d", dropped))
	}
	return h
}

func (h *harness) step(i int) {
	h.tool(fmt.Sprintf("a%03d", i), strings.Repeat("word ", 1000), "tool-calls", 9000+1000*i)
	h.pass()
}

// bustFor returns the number of the first pass that busts for a cause, and its price. It is 0 without one.
func (h *harness) bustFor(cause pipeline.Cause) (pass int, price pipeline.BustPrice) {
	for _, p := range h.journal() {
		if p.Cause == string(cause) && p.Bust {
			return p.Pass, pipeline.BustPrice(p.Price)
		}
	}
	return 0, price
}

// In a large window, drops that the model has asked for wait until carrying them has cost as much as the bust would
// have cost at once, also across restarts of the host. Each request pays for them once.
func TestDropsAreMadeForRent(t *testing.T) {
	for name, restarts := range map[string]bool{"one host": false, "a restarted host": true} {
		t.Run(name, func(t *testing.T) {
			h := rented(t, schema.SpendingBalanced, 24, 4)
			h.step(24)
			h.drop("c2", "5-12") // the model asks in each request, so the next drops are expected soon
			for i := 25; i < 60; i++ {
				if restarts {
					h.restart()
				}
				h.step(i)
			}
			pass, price := h.bustFor(pipeline.CauseRent)
			if pass == 0 {
				t.Fatal("nothing was removed for rent")
			}
			// The 12 dropped outputs have about 12,000 tokens, and about as many or more come after them. Writing a
			// token again costs 11.5 times as much as reading it.
			if price.Cost != int(11.5*float64(price.Resent)) || price.Removed < 9_000 || price.Removed > 15_000 {
				t.Errorf("the price: %+v", price)
			}
			carried := pass - 26 // the drops were asked for after the 26th request
			if least, most := price.Rent-price.Removed, price.Rent+price.Removed; carried*price.Removed < least || carried*price.Removed > most {
				t.Errorf("%d requests have carried %d tokens, and the meter shows %d", carried, price.Removed, price.Rent)
			}
			// Each request since then has added an output, which is as large as each of the 11 dropped ones.
			if atOnce := price.Cost - carried*price.Removed/11*23/2; price.Rent < atOnce-price.Removed || price.Rent > atOnce+2*price.Removed {
				t.Errorf("the meter shows %d, and at once the price would have been %d", price.Rent, atOnce)
			}
			if left := h.snapshot().Queued; len(left) > 0 {
				t.Errorf("still queued: %v", left)
			}
		})
	}
}

// If a model has not asked for drops in 25 requests, the next ones are expected after 25 more. Carrying 12,000 tokens
// until then would cost more than the bust, so it is made at once.
func TestRareDropsAreMadeAtOnce(t *testing.T) {
	h := rented(t, schema.SpendingBalanced, 24, 12)
	h.step(24)
	pass, price := h.bustFor(pipeline.CauseRent)
	if expected := 25 * price.Removed; pass != 26 || price.Cost > expected || price.Rent < expected || price.Rent > expected+2*price.Removed {
		t.Errorf("request %d made the drops, want the 26th: %+v", pass, price)
	}
}

// With the generous setting, no bust comes before the window fills. With the other settings, none comes if next to nothing
// can be removed.
func TestNoBustForRent(t *testing.T) {
	for name, h := range map[string]*harness{
		"generous":       rented(t, schema.SpendingGenerous, 24, 12),
		"nothing to go":  rented(t, schema.SpendingFrugal, 24, 0),
		"one short text": rented(t, schema.SpendingFrugal, 24, 1), // tag 1 is the prompt of three words
	} {
		t.Run(name, func(t *testing.T) {
			for i := 24; i < 524; i++ {
				h.tool(fmt.Sprintf("b%03d", i), "ok", "tool-calls", 33_000)
				h.pass()
			}
			if pass, price := h.bustFor(pipeline.CauseRent); pass != 0 {
				t.Errorf("request %d removed content for rent: %+v", pass, price)
			}
		})
	}
}

// Above 30,000 tokens the provider charges five times the price. Content then costs more rent, so it is removed earlier.
func TestPriceCliffRaisesTheRent(t *testing.T) {
	passes := make(map[string]int)
	for _, cliff := range []string{"none", "30000x5"} {
		h := rented(t, schema.SpendingBalanced, 0, 0)
		h.config.PriceCliff = map[string]string{"default": cliff}
		h.restart()
		for i := range 60 {
			h.step(i)
			switch i { // soon one after the other, so that the rent is not expected but paid
			case 23:
				h.drop("c1", "2-4")
			case 24:
				h.drop("c2", "5-13")
			}
		}
		if passes[cliff], _ = h.bustFor(pipeline.CauseRent); passes[cliff] == 0 {
			t.Fatalf("cliff %s: nothing was removed for rent", cliff)
		}
	}
	if passes["30000x5"] >= passes["none"] {
		t.Errorf("requests that bust: %v", passes)
	}
}
