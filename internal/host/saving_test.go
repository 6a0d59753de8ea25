package host

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// In this session, only the head shortens the prompts, and no bust drops anything. The status must count this saving
// and the cost of the historian.
func TestSavingCountsTheHead(t *testing.T) {
	h := answering(t, good)
	h.limits.Price = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}
	h.config.Historian.Model = "p/m"
	h.restart()
	h.host.history.Summarises = true
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
		if p.Pass <= 2 { // the first request writes the whole prompt, and the bust writes everything after its system prompt again
			input, read = p.WireTokens, 0
		}
		if err := h.store.SaveUsage(t.Context(), testKey, p.Pass, input, read, 0); err != nil {
			t.Fatal(err)
		}
	}
	// The bust removes tokens, and each later request saves $0.30 per million of them, because the provider does not
	// have to read them. The bust itself writes its whole prompt at $3.75 per million instead of reading it at $0.30.
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
	if said := h.command("ctx-status"); strings.Count(said, "\nSpent: ") != 1 { // once, it was there twice
		t.Errorf("/ctx-status says\n%s", said)
	}
}
