package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

var bounds = scene{name: "64k", turns: 60, limits: opencodetest.Limits{Context: 64_000}, maxRatios: ratios(1, 1.1, 1.2), maxBusts: 30}

// Each value of good is just within its bound.
func good() figure {
	return figure{
		Name: "magicctx", Turns: 60, Finished: 60, Requests: 360, Busts: 30, HitRate: 0.94,
		Peak: 63_999, Ratio: 1.1,
	}
}

func TestMisses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*figure)
		want   string
	}{
		"good":      {func(*figure) {}, ""},
		"alone":     {func(f *figure) { f.Ratio = 0 }, ""},
		"busts":     {func(f *figure) { f.Busts = 31 }, "31 busts are more than 30"},
		"hit rate":  {func(f *figure) { f.HitRate = 0.939 }, "the hit rate of 93.9% is below 94.0%"},
		"peak":      {func(f *figure) { f.Peak = 64_000 }, "the peak of 64,000 tokens is not below the window of 64,000"},
		"bill":      {func(f *figure) { f.Ratio = 1.13 }, "the bill is 1.130 times OpenCode's, more than 1.10"},
		"overflow":  {func(f *figure) { f.Overflows = 2 }, "prompts that were too long for the window: 2"},
		"turns":     {func(f *figure) { f.Finished = 58 }, "2 of 60 turns got no answer"},
		"strangers": {func(f *figure) { f.Strangers = 1 }, "requests that are not of the story: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			tt.change(&f)
			if got := strings.Join(f.misses(bounds, 1.1), "; "); got != tt.want {
				t.Errorf("misses %q, want %q", got, tt.want)
			}
		})
	}
}

// A million uncached input tokens cost $3, a million tokens written to the cache cost $3.75, and a million read from it
// cost $0.30. A million output tokens cost $15.
func TestReportComparesBills(t *testing.T) {
	const million = 1_000_000
	theirs := result{Name: "OpenCode", Turns: 60, Duration: 90 * time.Second, tally: tally{
		prices: prices, Requests: 370, Turns: 60, Summaries: 9, Peak: 57_000, Busts: make([]bust, 9),
		Tokens: promptcache.Tokens{Fresh: million, Write: million, Read: million, Output: million},
	}}
	ours := theirs
	ours.Name, ours.causes = "magicctx", []schema.CauseCount{{Cause: "pressure", Count: 8}, {Cause: "rent", Count: 1}}
	ours.removals = []schema.Removal{{Rule: "tool reclaim", Cause: "pressure", Tokens: 40_000, Rereads: 1, Reread: 400}, {Rule: "queued drops", Cause: "rent", Tokens: 60_000}}
	ours.Tokens.Write = 2 * million
	ours.Runs = []historianRun{{Turn: 3, Tokens: promptcache.Tokens{Write: million / 2, Read: million / 2}}}
	rep := newReport(bounds, byAnthropic, schema.SpendingBalanced, []result{theirs, ours})
	want := []figure{{Bill: 7.05, WithOutput: 22.05, Ratio: 1}, {Bill: 10.80, WithOutput: 25.80, Ratio: 25.80 / 22.05}}
	for i, f := range rep.Runs {
		got := figure{Bill: f.Bill, WithOutput: f.WithOutput, Ratio: f.Ratio}
		if diff := cmp.Diff(want[i], got, cmp.AllowUnexported(figure{}), cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}

	var out strings.Builder
	if err := rep.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	var lines []string // the lines, with single blanks
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, line := range []string{
		"OpenCode magicctx bound",
		"turns answered 60 of 60 60 of 60 all",
		"tokens written 1,000,000 2,000,000",
		"busts 9 9 ≤ 30",
		"- of it reads $0.30 $0.15", // half a million of these tokens are the historian's
		"- of it tokens not in the cache $6.75 $8.62",
		"- of it answers $15.00 $15.00",
		"- of it the historian $0 $2.02",
		"magicctx's journal: 8 × pressure",
		"magicctx's journal: 1 × rent",
		"read again after magicctx had removed it: 400 of 100k removed tokens (0.4%), for less than $0.01: old tool output (getting full) 400 of 40k",
		"missed: the hit rate of 25.0% is below 94.0%",
		"missed: the bill is 1.170 times OpenCode's, more than 1.10",
	} {
		if n := len(lines) - len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == line })); n != 1 {
			t.Errorf("the line %[1]q stands %[3]d times in\n%[2]s", line, out.String(), n)
		}
	}
}

// A session that ended early is cheaper than a whole one. This must not look like a saving, so the report gives no
// ratio for it.
func TestUnansweredTurnsHaveNoRatio(t *testing.T) {
	theirs := result{Name: "OpenCode", Turns: 60, tally: tally{prices: prices, Turns: 60, Tokens: promptcache.Tokens{Write: 100}}}
	ours := result{Name: "magicctx", Turns: 60, tally: tally{prices: prices, Turns: 9, Tokens: promptcache.Tokens{Write: 10}}}
	if rep := newReport(bounds, byAnthropic, schema.SpendingBalanced, []result{theirs, ours}); rep.Runs[1].Ratio != 0 {
		t.Errorf("ratio is %f, want none", rep.Runs[1].Ratio)
	}
}

// Each value of the setting `spending` has its own bound for the cost with magicctx, relative to the cost without it.
// If cached tokens are especially cheap, magicctx can save less, so the bound is wider.
func TestBoundsFollowTheDial(t *testing.T) {
	for _, c := range []struct {
		spending schema.Spending
		reads    float64
		want     float64
	}{
		{schema.SpendingFrugal, 0.1, 1},
		{schema.SpendingBalanced, 0.1, 1.1},
		{schema.SpendingGenerous, 0.1, 1.2},
		{schema.SpendingBalanced, 0.05, 1},
		{schema.SpendingFrugal, 0.025, 1},
	} {
		rep := newReport(bounds, byAnthropic.reading(c.reads), c.spending, nil)
		if rep.maxRatio != c.want {
			t.Errorf("%s at %g: the bound is %g, want %g", c.spending, c.reads, rep.maxRatio, c.want)
		}
	}
}
