package host

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// counted plays `steps` steps, beginning with the number `from`. Each step adds 5,000 tokens by the host's count. For
// each of these tokens, the provider reports `perToken` tokens. It also reports 4,000 tokens for the part of the prompt
// before the messages.
func (h *harness) counted(from, steps int, perToken float64) {
	h.t.Helper()
	for n := from; n < from+steps; n++ {
		h.clock.Advance(time.Second)
		h.user(fmt.Sprintf("u%d", n), "go on")
		h.pass()
		h.tool(fmt.Sprintf("a%d", n), words(5000), "stop", 4000+int(perToken*float64(h.ownCount())))
	}
}

func (h *harness) ratio() float64 {
	h.t.Helper()
	return float64(h.host.models.TokenRatio(context.Background(), schema.Model{Provider: "anthropic", ID: "m"}))
}

// The host learns the token ratio: how many tokens a provider counts where the host itself counts one. It keeps this
// ratio over a restart, and uses it to estimate messages for which no usage was reported.
func TestTokenRatioIsLearnedAndUsed(t *testing.T) {
	for _, perToken := range []float64{0.75, 1, 1.5} {
		h := newHarness(t)
		h.limits.ContextTokens = 1_000_000
		h.counted(1, 3, perToken)
		if got := h.ratio(); got != 0 {
			t.Errorf("ratio %v after 3 answers", got)
		}
		h.counted(4, 3, perToken)
		h.restart()
		if got := h.ratio(); math.Abs(got-perToken) > 0.02*perToken {
			t.Fatalf("learned %v; want %v", got, perToken)
		}
		h.tool("a90", words(40_000), "tool-calls", 0)
		h.told, h.revision = 0, 0
		h.user("u91", "go on")
		h.pass()
		real := 4000 + perToken*float64(h.ownCount())
		if got := float64(h.believed()); math.Abs(got-real) > 0.03*real {
			t.Errorf("%v tokens for each of ours: %v are believed, %v are real", perToken, got, real)
		}
	}
}

func TestTokenRatioServesNewSessions(t *testing.T) {
	h := newHarness(t)
	m := pipeline.TokenSample{Model: schema.Model{Provider: "anthropic", ID: "m"}, Ratio: 1.6}
	for range 3 { // the host uses a ratio only after this number of samples
		if err := h.host.models.LearnRatio(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	h.user("u1", "go on")
	h.tool("a1", words(20_000), "stop", 0)
	h.user("u2", "go on")
	h.pass()
	if got := float64(h.believed()); math.Abs(got-32_000) > 500 {
		t.Errorf("%v tokens are believed of 20,000 of ours", got)
	}
}

// A bust makes the prompt smaller, or lets it grow by less than the new messages. The host must not conclude from this
// that the provider counts fewer tokens.
func TestTokenRatioLearnsNothingAcrossABust(t *testing.T) {
	h := newHarness(t)
	h.limits.ContextTokens = 1_000_000
	for i := range 5 { // the calls have the tags 2, 4, 6, 8 and 10
		h.user(fmt.Sprintf("u9%d", i), "go on")
		h.tool(fmt.Sprintf("a9%d", i), words(2000), "stop", 0)
	}
	h.counted(1, 2, 1)
	for i := range 5 {
		h.drop(fmt.Sprintf("call-%d", i), fmt.Sprint(2*i+2))
		h.flush()
		busts := h.busts()
		h.counted(3+2*i, 2, 1) // the two steps add 5,000 tokens each; across the bust, the prompt grows by only 3,000
		if h.busts() != busts+1 {
			t.Fatalf("%d busts after %d", h.busts(), busts)
		}
	}
	if got := h.ratio(); math.Abs(got-1) > 0.02 {
		t.Errorf("learned %v of a provider that counts as we do", got)
	}
}

// If a request was sent without the host's wire, the host does not know which messages the provider has counted. So it
// must not learn a ratio from the usage of the answer.
func TestTokenRatioLearnsNothingWithoutTheHost(t *testing.T) {
	h := newHarness(t)
	h.limits.ContextTokens = 1_000_000
	for n := range 8 {
		h.counted(n+1, 1, 1.5)
		h.lastWire = "" // the next pass reports that the request left without the host
	}
	if got := h.ratio(); got != 0 {
		t.Errorf("learned %v", got)
	}
}

// The budgets of the history are in the host's tokens. If a provider counts more tokens for the same text, less history
// fits into the window, so the host must shrink these budgets.
func TestTokenRatioShrinksTheBudgetsOfTheHistory(t *testing.T) {
	for _, perToken := range []float64{0, 2} {
		h := answering(t, good)
		m := pipeline.TokenSample{Model: schema.Model{Provider: "anthropic", ID: "m"}, Ratio: pipeline.TokenRatio(perToken)}
		for range 3 * int(min(1, perToken)) {
			if err := h.host.models.LearnRatio(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		h.user("u1", "go on "+strings.Repeat("more ", 100))
		h.pass()
		s, err := h.host.sessions.Lock(t.Context(), testKey)
		if err != nil {
			t.Fatal(err)
		}
		want := 64_000
		if perToken == 2 {
			want = 32_000
		}
		s.Chronicle.Compartments = []chronicle.Compartment{{Start: 1, End: 1}}
		h.config.Spending, h.limits.ContextTokens = schema.SpendingGenerous, 64_000
		ps, err := h.host.passes.Forecast(t.Context(), h, s, h.project)
		if err != nil {
			t.Fatal(err)
		}
		percent := ps.Readings.Threshold / 100
		if got, budget := ps.Readings.History.BudgetTokens, int(float64(want)*percent*0.15); got != budget {
			t.Errorf("the history may have %d of our tokens, want %d", got, budget)
		}
		s.Unlock()
	}
}
