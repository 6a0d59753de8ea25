package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// The function `rented` starts a session in a window of 1,000,000 tokens, with one long turn. Each step reads an output
// of a thousand words. If `dropped` is not 0, the model asks to drop all tags from 2 to `dropped`.
func rented(t *testing.T, spending schema.Spending, steps, dropped int) *harness {
	h := newHarness(t)
	h.config.Spending = spending
	h.config.ProtectedTags = 4
	h.limits = schema.ModelLimits{ContextTokens: 1_000_000, NPM: "@ai-sdk/anthropic", Price: schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}}
	h.restart() // a host reads the configuration only at its start
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

// bustFor returns the first pass that busts for this cause, and the price of the bust. If there is no such pass, it
// returns 0.
func (h *harness) bustFor(cause pipeline.Cause) (pass int, price schema.BustPrice) {
	for _, p := range h.journal() {
		if p.Cause == string(cause) && p.Bust {
			return p.Pass, p.Price
		}
	}
	return 0, price
}

// The host does not make queued drops at once. It adds up what each request pays for the content to drop (the rent),
// until the sum is as high as the price that a bust had when the model asked for the drops. A restart of the host must
// neither lose a pass from the rent nor count a pass twice.
func TestDropsAreMadeForRent(t *testing.T) {
	for name, restarts := range map[string]bool{"one host": false, "a restarted host": true} {
		t.Run(name, func(t *testing.T) {
			h := rented(t, schema.SpendingBalanced, 24, 4)
			h.step(24)
			h.drop("c2", "5-12") // the model asks for drops in each request, so the next ones are expected soon
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
			// The 11 dropped outputs have about 12,000 tokens. The provider has to write everything after them to its
			// cache again. Writing a token costs 12.5 times as much as reading it, so each token that is written again
			// adds 11.5 times the price of a read.
			if price.Cost != int(11.5*float64(price.Resent)) || price.Removed < 9_000 || price.Removed > 15_000 {
				t.Errorf("the price: %+v", price)
			}
			carried := pass - 26 // the model asked for the drops after the 26th request
			if least, most := price.Rent-price.Removed, price.Rent+price.Removed; carried*price.Removed < least || carried*price.Removed > most {
				t.Errorf("%d requests have carried %d tokens, and the meter shows %d", carried, price.Removed, price.Rent)
			}
			// Since the model asked for the drops, each request has added an output as large as one of the 11 dropped
			// outputs. If the bust had been made at once, the provider would not have had to write these later outputs
			// again.
			if atOnce := price.Cost - carried*price.Removed/11*23/2; price.Rent < atOnce-price.Removed || price.Rent > atOnce+2*price.Removed {
				t.Errorf("the meter shows %d, and at once the price would have been %d", price.Rent, atOnce)
			}
			if left := h.snapshot().Queued; len(left) > 0 {
				t.Errorf("still queued: %v", left)
			}
		})
	}
}

// The model asks for its first drops after 25 requests, so the host expects the next drops 25 requests later. If the
// first drops waited until then, sending their 12,000 tokens would cost more than a bust. So the host makes them at
// once.
func TestRareDropsAreMadeAtOnce(t *testing.T) {
	h := rented(t, schema.SpendingBalanced, 24, 12)
	h.step(24)
	pass, price := h.bustFor(pipeline.CauseRent)
	if expected := 25 * price.Removed; pass != 26 || price.Cost > expected || price.Rent < expected || price.Rent > expected+2*price.Removed {
		t.Errorf("request %d made the drops, want the 26th: %+v", pass, price)
	}
}

// With the generous setting, the host makes no bust before the window fills. With the other settings, it makes no bust
// that frees too little.
func TestNoBustForRent(t *testing.T) {
	for name, test := range map[string]struct {
		h      *harness
		queued int
	}{
		"generous":      {rented(t, schema.SpendingGenerous, 24, 12), 11},
		"nothing to go": {rented(t, schema.SpendingFrugal, 24, 0), 0},
		"one output":    {rented(t, schema.SpendingFrugal, 24, 2), 1}, // of 1,000 tokens, less than leastRemoved in pipeline
	} {
		t.Run(name, func(t *testing.T) {
			h := test.h
			for i := 24; i < 524; i++ {
				h.tool(fmt.Sprintf("b%03d", i), "ok", "tool-calls", 33_000)
				h.pass()
			}
			if pass, price := h.bustFor(pipeline.CauseRent); pass != 0 {
				t.Errorf("request %d removed content for rent: %+v", pass, price)
			}
			if queued := h.snapshot().Queued; len(queued) != test.queued {
				t.Errorf("the drops of %d outputs wait, want %d", len(queued), test.queued)
			}
		})
	}
}

// Above 30,000 tokens, the provider charges five times the price. Content then costs more rent, so the host must bust
// earlier.
func TestPriceCliffRaisesTheRent(t *testing.T) {
	passes := make(map[string]int)
	for _, cliff := range []string{"none", "30000x5"} {
		h := rented(t, schema.SpendingBalanced, 0, 0)
		h.config.PriceCliff = map[string]string{"default": cliff}
		h.restart()
		for i := range 60 {
			h.step(i)
			switch i { // directly one after the other, so that the bust is made for rent already paid, not for expected rent
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

// The historian has summarised messages to save rent. The head must show these summaries at once, even mid-turn. It
// must show all of them, because the next run would otherwise read their messages again.
func TestSummariesForRentShowAtOnce(t *testing.T) {
	h := answering(t, func(p schema.AgentRunParams) (string, error) {
		r := historiantest.RangeOf(p.Prompt)
		first, last := r, r
		first.End, last.Start = r.Start+1, r.Start+2
		return historiantest.Output(historiantest.Compartment(first, "Told of "+first.String()), historiantest.Compartment(last, "Told of "+last.String())), nil
	})
	h.config.Spending = schema.SpendingBalanced
	h.limits = schema.ModelLimits{ContextTokens: 1_000_000, NPM: "@ai-sdk/anthropic", Price: schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}}
	h.restart()
	for i := 0; len(h.compartments()) == 0; i++ {
		if i == 100 {
			t.Fatal("the historian has not run")
		}
		if i%10 == 0 {
			h.user(fmt.Sprintf("u%03d", i), "read on")
		}
		h.step(i)
		h.settle()
	}
	if n := len(h.compartments()); n != 2 {
		t.Errorf("the run has published %d compartments, want both", n)
	}
	published := len(h.journal())
	h.tool("mid", strings.Repeat("word ", 1000), "tool-calls", 9000+1000*published)
	h.pass()
	if pass, _ := h.bustFor(pipeline.CauseRent); pass != published+1 {
		t.Errorf("request %d shows the summaries, want %d", pass, published+1)
	}
}

// The frugal setting limits history and documents. If the user has raised the history's share, the share wins.
func TestRaisedShareOfTheHistoryWinsOverFrugal(t *testing.T) {
	shown := make(map[float64]bool)
	for _, share := range []float64{15, 30} {
		h := answering(t, good)
		h.config.Spending, h.config.HistoryBudgetPercentage = schema.SpendingFrugal, share
		h.project = t.TempDir()
		if err := os.WriteFile(filepath.Join(h.project, "ARCHITECTURE.md"), []byte(strings.Repeat("a line of the document\n", 700)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.host.Initialize(t.Context(), h, schema.InitializeParams{Harness: h.kind, Directory: h.project}); err != nil {
			t.Fatal(err)
		}
		h.talkLong()
		h.flush()
		h.user("again", "go on")
		h.pass()
		shown[share] = strings.Contains(h.wire(), "a line of the document") // a document that does not fit is left out
	}
	if shown[15] || !shown[30] {
		t.Errorf("the document of 4,200 tokens is shown, by share of the history in percent: %v", shown)
	}
}
