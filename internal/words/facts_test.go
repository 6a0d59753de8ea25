package words

import (
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// If summaries have lost most details, that is a fault, so the text must not call the history healthy.
func TestPoorSummariesAreNotHealthy(t *testing.T) {
	for fidelity, isHealthy := range map[float64]bool{0: false, 0.49: false, 0.5: true, 1: true} {
		st := schema.SessionStatus{History: &schema.HistoryStatus{Compartments: 2, Fidelity: fidelity}}
		if got := strings.HasPrefix(historyOf(st), "healthy"); got != isHealthy {
			t.Errorf("fidelity %v: healthy is %t: %v", fidelity, got, Faults(st, noon))
		}
	}
}

// The screen shows causes in plain words, for example "new model" for "model-changed". Each fits into its column.
func TestCausesAreShownInPlainWords(t *testing.T) {
	st := schema.SessionStatus{Passes: 9, Busts: 3, LastCause: "not-worth-it"}
	st.BustCauses = []schema.CauseCount{{Cause: "model-changed", Count: 2}, {Cause: "of a newer host", Count: 1}}
	st.Removals = []schema.Removal{{Rule: "tool reclaim", Cause: "model-changed", Tokens: 2000, Reread: 1000}}
	card := lastOf(st, noon) + "\n" + bustsOf(st) + "\n" + Regret(st.Removals, 1)
	for _, want := range []string{"old tool output (new model)", "no bust (not worth it yet)", "new model 2", "of a newer host 1"} {
		if !strings.Contains(card, want) {
			t.Errorf("%q lacks %q", card, want)
		}
	}
	for code := range reasons {
		if said := format.Cause(code); said == code || len("bust: "+said) > 22 {
			t.Errorf("the list has no words for %q, or cuts %q", code, said)
		}
	}
}

func TestLossNamesTheHistorian(t *testing.T) {
	st := schema.SessionStatus{Saved: &schema.Saving{Money: -3.75, Historian: 4.1, Passes: 129}}
	if got, want := Saved(st), "cost about $3.75 more than if nothing had been dropped, with $4.10 for the historian"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
}

func TestWindowNamesItsSource(t *testing.T) {
	for _, test := range []struct {
		tokens int
		source schema.LimitSource
		at     int64
		want   string
	}{
		{200_000, schema.LimitCatalogue, noon.Add(-time.Hour).UnixMilli(), "200k, by the harness's catalogue"},
		{131_072, schema.LimitOverflow, noon.Add(-3 * time.Hour).UnixMilli(), "131k, learned from a refused prompt 3h00m ago"},
		{260_000, schema.LimitUsage, noon.Add(-time.Minute).UnixMilli(), "at least 260k, as a prompt of that size was accepted 1m ago"},
		{100_000, schema.LimitConfig, 0, "100k, as configured"},
		{0, schema.LimitDefault, 0, "unknown to the harness's catalogue"},
		{0, "", 0, "unknown"},
		{200_000, "", 0, "200k"}, // an older host does not send the source
	} {
		if got := windowOf(schema.SessionStatus{ContextTokens: test.tokens, LimitSource: test.source, LimitAt: test.at}, noon); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestCacheLifeNamesItsSource(t *testing.T) {
	for _, test := range []struct {
		life   time.Duration
		reason string
		want   string
	}{
		{5 * time.Minute, "Anthropic's default", "5 min (Anthropic's default)"},
		{time.Hour, "configured", "1 h (configured)"},
		{12*time.Minute + 4*time.Second, "learned: a prefix was read after 12 min", "12 min (learned: a prefix was read after 12 min)"},
		{0, "configured", "0 s (configured)"},
		{0, "", ""}, // an older host does not send the cache life
	} {
		if got := cacheLifeOf(schema.SessionStatus{CacheLifeMS: test.life.Milliseconds(), CacheLifeReason: test.reason}); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestNextBust(t *testing.T) {
	full := schema.SessionStatus{Pressure: 0.66, Threshold: 0.65}
	for want, n := range map[string]*schema.NextBust{
		"with the next message, if there is something to free: you asked for it": {IsAsked: true, Waits: true},
		"waits: it would not pay off yet, see last price":                        {Waits: true, Freed: 80},
		"due: frees at most 9k, re-sends 300 or more":                            {At: 26_000, Freed: 9000, Resent: 300},
	} {
		full.NextBust = n
		if got := NextBust(full); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	full.NextBust = &schema.NextBust{At: 26_000, Freed: 9000, Resent: 300}
	full.LastPrice = &schema.PricedPass{Cause: "not-worth-it", Price: schema.BustPrice{Resent: 700, Removed: 6100}}
	if got, want := NextBust(full), "as soon as it pays, see last price"; got != want { // once, it stood beside "removes 6.1k"
		t.Errorf("got %q, want %q", got, want)
	}
	full.LastPrice, full.LastCause, full.Queued = nil, "nothing-to-do", 5
	if got, want := NextBust(full), "due, but the marked pieces are among the newest; 5 pieces marked by the model"; got != want || dueOf(full) != want { // once, "frees at most 9k" stayed for requests
		t.Errorf("got %q and %q, want %q", got, dueOf(full), want)
	}
	roomy := schema.SessionStatus{Pressure: 0.3, Threshold: 0.65, NextBust: &schema.NextBust{At: 26_000, Freed: 9000, Resent: 300}}
	if got, want := NextBust(roomy), "at 26k: frees at most 9k, re-sends 300 or more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Content that a summary has replaced counts as removed, but not as dropped. The text used to hide the summaries: it
// did not name the summarised messages, and if a piece was also dropped, it did not mention summaries at all.
func TestDroppedNamesTheSummaries(t *testing.T) {
	st := schema.SessionStatus{Units: 523, Tokens: schema.TokensBySource{Dropped: 4100}, Head: &schema.HeadStatus{}}
	for _, want := range []string{"nothing of 523 pieces", "nothing of 523 pieces; messages 1-13 are summarised", "4.1k tokens, 3 of 523 pieces; messages 1-13 are summarised"} {
		if got := Dropped(st); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if st.Head.Through > 0 {
			st.Dropped = 3
		}
		st.Head.Through = 13
	}
}

// The status must give the size of the head in the provider's tokens, so that the text agrees with the bar. It had two
// bugs (P9): "in prompt" gave the size in the host's tokens. And if nothing had been added since the fold, the status
// said "22 added since", because the sentence that stands for an empty delta has 22 tokens.
func TestHeadHasTheSizeOfTheBar(t *testing.T) {
	head := schema.HeadStatus{Through: 50, Baseline: 3600, Delta: 100, FoldedAt: noon.UnixMilli(), FoldReason: "first-head", Sections: schema.HeadSections{Compartments: 3000}}
	for measured, want := range map[int64]string{
		2900: "messages 1-50 as 2.9k tokens: 2.8k written (summaries 2.4k), 78 added since;",
		0:    "messages 1-50 as 3.7k tokens: 3.6k written (summaries 3k), 100 added since;",
	} {
		if got := headOf(&head, measured, noon); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	head.Delta = 0
	if got := HeadSizes(head); !strings.HasSuffix(got, ", nothing added since") {
		t.Errorf("got %q", got)
	}
}

// If the budget stops an agent, the status says when the agent may ask a model again. If part of the budget is already
// spent, this is the next day. If a single call needs more than the whole budget, the agent stops until the user raises
// the budget.
func TestBudgetSaysWhenWorkGoesOn(t *testing.T) {
	until := noon.Add(3 * time.Hour).UnixMilli()
	for _, test := range []struct {
		stop schema.BudgetStop
		want []string
	}{
		{schema.BudgetStop{Agents: "historian", Until: until, Money: 5, SpentMoney: 4, NeedsMoney: 1.5, Tokens: 9}, []string{"$5.00 a day for the historian", "$4.00 spent", "may need $1.50", "asks a model again in 3h00m; until then, a full window gets extracts"}},
		{schema.BudgetStop{Until: until, Money: 1, NeedsMoney: 1.5, Tokens: 9}, []string{"$1.00 a day for all agents,", "until you raise it, and a full window gets extracts"}},
		{schema.BudgetStop{Until: until, Money: 5, NeedsMoney: 1.5, Tokens: 90_000, SpentTokens: 70_000, NeedsTokens: 30_000}, []string{"90k tokens a day", "70k spent", "may need 30k", "asks a model again in 3h00m; until then, a full window gets extracts"}},
		{schema.BudgetStop{Until: until, Money: 5, NeedsMoney: 1.5, Tokens: 20_000, NeedsTokens: 30_000}, []string{"20k tokens a day", "until you raise it"}},
	} {
		text := budgetsOf(schema.SessionStatus{History: &schema.HistoryStatus{Budget: &test.stop}}, noon)
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
	}
	if text := budgetsOf(schema.SessionStatus{History: &schema.HistoryStatus{}, Dream: &schema.DreamStatus{}}, noon); text != "" {
		t.Errorf("with enough budget: %q", text)
	}
}

// The bug: the status named a used-up budget only for the historian. So when the dreamer's budget was used up, the
// dreamer seemed to have nothing to do.
func TestBudgetOfTheDreamerIsNamed(t *testing.T) {
	stop := schema.BudgetStop{Agents: "others", Until: noon.Add(time.Hour).UnixMilli(), Money: 2, SpentMoney: 1.9, NeedsMoney: 0.2, Tokens: 9}
	st := schema.SessionStatus{Dream: &schema.DreamStatus{Budget: &stop}}
	if got, want := budgetsOf(st, noon), "$2.00 a day for all agents but the historian, $1.90 spent or reserved; the next call may need $0.20. The dreamer asks a model again in 1h00m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	st.History = &schema.HistoryStatus{Budget: &stop}
	if got := budgetsOf(st, noon); strings.Count(got, "asks a model again") != 2 {
		t.Errorf("both agents: %q", got)
	}
}

func TestSidekickSaysWhatItDoes(t *testing.T) {
	for want, s := range map[string]*schema.SidekickStatus{
		"": nil, "chooses what to search for": {}, "chooses from 1 search result, 1.2k tokens so far": {Results: 1, Tokens: 1200},
	} {
		if got := sidekickOf(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDreamerSaysWhyItRests(t *testing.T) {
	for want, d := range map[string]*schema.DreamStatus{
		"": {},
		"task 2 of 4 (verify), for 5m, 4.1k tokens so far":                                                         {Task: "verify", Number: 2, Of: 4, Since: noon.Add(-5 * time.Minute).UnixMilli(), Tokens: 4100},
		"task 2 of 4 (verify), for 5m, 0 tokens so far; interrupted, goes on with the schedule or /ctx-dream":      {Task: "verify", Number: 2, Of: 4, Since: noon.Add(-5 * time.Minute).UnixMilli(), Waits: true},
		"3 equal failures ended the schedule; it goes on in 8h00m, or when /ctx-dream succeeds. The last one: 401": {Failures: 3, Failure: "401", Until: noon.Add(8 * time.Hour).UnixMilli()},
	} {
		if got := dreamOf(d, noon); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
