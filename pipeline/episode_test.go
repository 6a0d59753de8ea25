package pipeline

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

func TestIsWorthIt(t *testing.T) {
	pays, not := schema.BustPrice{Removed: 1, BreakEven: 5, Forecast: 5}, schema.BustPrice{Removed: 1, BreakEven: 6, Forecast: 5}
	// The window is 100,000 tokens, the high mark is 65,000, and the goal is 30,000. Half way from the high mark to the
	// goal is 47,500. The high mark minus a tenth of the window is 55,000.
	at := func(current int, cause Cause, price schema.BustPrice) Assessment {
		return Assessment{Cause: cause, Percent: float64(current) / 1000, Size: Size{Current: current}, Goal: 30_000, Price: price}
	}
	for _, c := range []struct {
		name  string
		d     Assessment
		price schema.Price
		freed int
		want  bool
	}{
		{"what the user asked for", at(70_000, CauseFlush, not), quarterAndTenth, 1, true},
		{"what the provider asked for", at(70_000, CauseOverflow, not), quarterAndTenth, 1, true},
		{"nobody knows a price", at(70_000, CausePressure, not), schema.Price{Write: 1}, 1, true},
		{"under pressure the price decides", at(70_000, CausePressure, pays), quarterAndTenth, 1, true},
		{"also against much relief", at(70_000, CausePressure, not), quarterAndTenth, 60_000, false},
		// Below the force level, a bust before the end of the turn costs more than it saves (docs/decisions.md).
		{"also just below the force level", at(84_999, CausePressure, not), quarterAndTenth, 60_000, false},
		{"at the force level a tenth below the high mark is enough", at(86_000, CauseForce, not), quarterAndTenth, 31_000, true},
		{"one token less is not", at(86_000, CauseForce, not), quarterAndTenth, 30_999, false},
		{"nor just below the emergency level", at(94_999, CauseForce, not), quarterAndTenth, 39_998, false},
		{"unless it pays off", at(86_000, CauseForce, pays), quarterAndTenth, 1, true},
		{"in an emergency 2,000 tokens are enough", at(99_000, CauseForce, not), quarterAndTenth, 2000, true},
		{"fewer are not", at(99_000, CauseForce, not), quarterAndTenth, 1999, false},
		{"not even if it would pay off", at(99_000, CauseForce, pays), quarterAndTenth, 1999, false},
		{"unless it ends the emergency", at(95_001, CauseForce, not), quarterAndTenth, 2, true},
		{"down to the level is not below it", at(95_001, CauseForce, not), quarterAndTenth, 1, false},
	} {
		if got := isWorthIt(c.d, Readings{Price: c.price, Threshold: 65}, c.freed, 100_000); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	near := at(86_000, CauseForce, not)
	near.Goal = 60_000 // half way to the goal is 62,500
	if !isWorthIt(near, Readings{Price: quarterAndTenth, Threshold: 65}, 23_500, 100_000) {
		t.Error("half way to a near goal is not enough")
	}
	noGoal := at(86_000, CauseForce, not)
	noGoal.Goal = 0
	if isWorthIt(noGoal, Readings{Price: quarterAndTenth, Threshold: 65}, 80_000, 100_000) {
		t.Error("relief without a goal")
	}
}

func TestOccasionOf(t *testing.T) {
	g := rule.Goal{Ceiling: 65_000, Target: 25_000} // half way is 45,000
	for _, c := range []struct {
		current int
		verdict schema.Verdict
		want    rule.Occasion
	}{
		{64_999, schema.Soft, rule.AnyBust},
		{65_000, schema.Soft, rule.Pressure},
		{84_999, schema.Soft, rule.Pressure},
		{85_000, schema.Soft, rule.Force},
		{94_999, schema.Soft, rule.Force},
		{95_000, schema.Soft, rule.Emergency},
		{45_000, schema.Hard, rule.AnyBust},
		{45_001, schema.Hard, rule.Pressure},
		{45_001, schema.Soft, rule.AnyBust},
		{96_000, schema.Hard, rule.Emergency},
	} {
		d := Assessment{Verdict: c.verdict, Percent: float64(c.current) / 1000, Size: Size{Current: c.current}}
		if got := occasionOf(d, g); got != c.want {
			t.Errorf("%d, %s: occasion %d, want %d", c.current, c.verdict, got, c.want)
		}
	}
}

func TestIsStuck(t *testing.T) {
	const tags, grace = 3, 2
	remembered := Episode{Stuck: Stuck{Tag: tags, Grace: grace, Band: 2}}
	for _, c := range []struct {
		name    string
		cause   Cause
		percent float64
		episode Episode
		queued  bool
		want    bool
	}{
		{"pressure finds what the last pass found", CausePressure, 70, remembered, false, true},
		{"and force in the same band", CauseForce, 94, remembered, false, true},
		{"a graver band has more rules", CauseForce, 95, remembered, false, false},
		{"a lower one has no more", CausePressure, 84, remembered, false, true},
		{"the user may always ask", CauseFlush, 70, remembered, false, false},
		{"a prefix that is gone is no episode", CauseIdle, 70, remembered, false, false},
		{"nothing is remembered", CausePressure, 70, Episode{}, false, false},
		{"there are new units", CausePressure, 70, Episode{Stuck: Stuck{Tag: tags - 1, Grace: grace, Band: 2}}, false, false},
		{"some had their grace since", CausePressure, 70, Episode{Stuck: Stuck{Tag: tags, Grace: grace - 1, Band: 2}}, false, false},
		{"a drop was queued", CausePressure, 70, remembered, true, false},
	} {
		w := hundreds(t, tags)
		w.session.Meta.ReclaimUpTo = grace
		w.session.Meta.Episode = c.episode
		if c.queued {
			w.queue(1)
		}
		if got := w.session.isStuck(Assessment{Cause: c.cause, Percent: c.percent}, false); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestStuckIf(t *testing.T) {
	w := hundreds(t, 3)
	w.session.Meta.ReclaimUpTo = 2
	for percent, band := range map[float64]int{65: 1, 84.9: 1, 85: 2, 94.9: 2, 95: 3, 120: 3} {
		if got, want := w.session.stuckIf(true, percent), (Stuck{Tag: 3, Grace: 2, Band: band}); got != want {
			t.Errorf("at %v %%: %+v, want %+v", percent, got, want)
		}
		if got := w.session.stuckIf(false, percent); got != (Stuck{}) {
			t.Errorf("not stuck at %v %%: %+v", percent, got)
		}
	}
}

func TestEpisodeWithoutReliefIsTriedAgainOnlyWithNews(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(said("u1", "user", 10, 0), said("a1", "assistant", 10, 0), said("u2", "user", 10, 0))
	w.pass()
	step := func(percent float64, want Cause) {
		t.Helper()
		w.usage(percent)
		w.pass()
		if w.decision.Cause != want {
			t.Errorf("at %v %%: %s (%s), want (%s)", percent, w.decision.Verdict, w.decision.Cause, want)
		}
	}
	step(70, CauseNothingToDo)
	step(70, CauseNothingToDo) // the rules are asked again: after the previous pass, the two-pass reclaim may drop more outputs
	step(70, CauseNoProgress)
	w.restart()
	step(71, CauseNoProgress)
	step(86, CauseNothingToDo)
	step(86, CauseNoProgress)
	w.add(said("u3", "user", 10, 0))
	step(86, CauseNothingToDo)
	step(86, CauseNothingToDo) // the rules are asked again: after the previous pass, the two-pass reclaim may drop more outputs
	step(86, CauseNoProgress)
	step(64, CauseNone)
	if e := w.session.Meta.Episode; e.Stuck != (Stuck{}) {
		t.Errorf("not forgotten: %+v", e)
	}
	step(70, CauseNothingToDo)
}

// If a provider never reports usage, the host counts each prompt itself, and this count takes the place of a report.
// Otherwise, the tiered drop would wait for a report after each bust, and so never run again.
func TestUnreportedUsageIsMeasuredByTheHost(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(said("u1", "user", 10, 0), said("a1", "assistant", 10, 0))
	w.pass()
	w.session.Meta.Episode = Episode{Relief: Relief{Tokens: 5000}}
	size, _ := w.session.size(Counting{})
	d := Assessment{Size: size, Percent: 90}
	if g := w.session.goal(d, w.readings, w.readings.LimitTokens, 0); !g.Measured {
		t.Error("a bust long ago keeps the tiered drop from being asked for ever")
	}
	w.session.Meta.Episode = Episode{Relief: Relief{Of: "a1/90000", Tokens: 5000}}
	d.Size = Size{Measurement: "a1/90000", Measured: 90_000, Current: 85_000}
	if g := w.session.goal(d, w.readings, w.readings.LimitTokens, 0); g.Measured {
		t.Error("the same measurement counts twice (A29)")
	}
}
