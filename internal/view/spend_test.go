package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
)

// The function `call` returns a call of the historian, made `hours` hours after the beginning of 26 November in New
// York.
func call(hours float64, project, model string, dollars float64, compartments, memories int) chronicle.Call {
	c := chronicle.Call{
		At: newYorkMidnight.Add(time.Duration(hours * float64(time.Hour))).UnixMilli(), Agent: "historian",
		Holder: fmt.Sprint(hours), Project: "git:" + project, Directory: "/home/u/" + project, Model: model, Input: 900, Output: 100,
		Compartments: compartments, Memories: memories,
	}
	if dollars > 0 {
		cost := int64(dollars * chronicle.Dollar)
		c.Cost = &cost
	}
	return c
}

var (
	newYork         = time.FixedZone("EST", -5*3600)
	newYorkMidnight = time.Date(2026, 11, 26, 0, 0, 0, 0, newYork)
)

var spent = []chronicle.Call{
	call(-1, "one", "p/big", 0.25, 1, 0), // the day before in New York, and the same day in UTC
	call(1, "one", "p/big", 0.25, 0, 0),
	call(2, "one", "p/big", 0.25, 2, 3),
	call(3, "two", "p/local", 0, 1, 0),
}

func TestSpendIsSummedByDayProjectAgentAndModel(t *testing.T) {
	s := SpendOf(spent, nil, newYork)
	if len(s.Rows) != 3 {
		t.Fatalf("rows %+v", s.Rows)
	}
	for i, want := range []SpendRow{
		{"2026-11-26", "git:one", "/home/u/one", "historian", "p/big", SpendSum{Calls: 2, Runs: 2, InputTokens: 1800, OutputTokens: 200, Money: 0.5, Compartments: 2, Memories: 3}},
		{"2026-11-26", "git:two", "/home/u/two", "historian", "p/local", SpendSum{Calls: 1, Runs: 1, UnpricedCalls: 1, InputTokens: 900, OutputTokens: 100, Compartments: 1}},
		{"2026-11-25", "git:one", "/home/u/one", "historian", "p/big", SpendSum{Calls: 1, Runs: 1, InputTokens: 900, OutputTokens: 100, Money: 0.25, Compartments: 1}},
	} {
		if s.Rows[i] != want {
			t.Errorf("row %d: %+v, want %+v", i, s.Rows[i], want)
		}
	}
	if s.Total.Calls != 4 || s.Total.Money != 0.75 || s.Total.Compartments != 4 || s.Total.UnpricedCalls != 1 {
		t.Errorf("total %+v", s.Total)
	}
	// Fixed bug: a merge of memories counted as a new memory, and two calls of one run counted as two runs.
	merged := spent[2]
	merged.Agent, merged.Compartments = "dreamer", 0
	if out := new(strings.Builder); PrintSpend(out, SpendOf([]chronicle.Call{merged}, nil, newYork), newYorkMidnight, Page{Width: 200}) != nil || !strings.Contains(out.String(), "0 summaries and 0 memories, and changed 3 memories.") {
		t.Errorf("a merge:\n%s", out)
	}
	if total := SpendOf([]chronicle.Call{spent[2], merged}, nil, newYork).Total; total.Memories != 3 || total.Changes != 3 || total.Runs != 1 {
		t.Errorf("with a merge: %+v", total)
	}
	if rows := SpendOf(spent, nil, time.UTC).Rows; len(rows) != 2 {
		t.Errorf("in UTC, all calls are on one day: %+v", rows)
	}
}

func TestPrintedSpend(t *testing.T) {
	print := func(s Spend, width int) string {
		var b strings.Builder
		if err := PrintSpend(&b, s, newYorkMidnight, Page{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := format.Columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns on a page of %d: %q", n, width, line)
			}
		}
		return b.String()
	}
	aQuarter := int64(chronicle.Dollar / 4)
	all := SpendOf(spent, []chronicle.Report{{At: newYorkMidnight.Add(3 * time.Hour).UnixMilli(), Text: "The dreamer has archived 1 memory.", Cost: &aQuarter}}, newYork)
	out := print(all, 140)
	for _, want := range []string{"$0.75 + ?", "4 runs, 4 calls, 4k tokens", "PER RUN", "4 summaries and 3 memories", "PROJECT", "include the historian's part of this: $0.75.", "MEMORIES", "big", "local", "2026-11-26 03:00  $0.25  The dreamer has archived 1 memory."} {
		if !strings.Contains(out, want) {
			t.Errorf("the page lacks %q:\n%s", want, out)
		}
	}
	bars := make(map[string]int)
	for line := range strings.Lines(out) {
		if n := strings.Count(line, "█"); n > 0 {
			bars[strings.Fields(line)[0]] = n
		}
	}
	if today, before := bars["2026-11-26"], bars["2026-11-25"]; before == 0 || today < 2*before-1 || today > 2*before+1 {
		t.Errorf("bars %v for twice the money", bars)
	}
	print(SpendOf(spent, nil, newYork), 40)
	running := spent[3]
	running.Reserved, running.Findings = chronicle.Dollar/2, 2
	if out := print(SpendOf(append(spent[:3:3], running), nil, newYork), 80); strings.Count(out, "$0.50*") != 1 || strings.Count(out, "$0*") != 1 || !strings.Contains(out, "$0.50 more is reserved (*).") || !strings.Contains(strings.ReplaceAll(out, "\n ", " "), "and 3 memories, and given 2 findings to prompts.") {
		t.Errorf("with a call under way:\n%s", out)
	} else if strings.Contains(out, "MEMORIES\n") || !strings.Contains(out, "A wider terminal also shows SUMMARIES, MEMORIES, TOKENS, CHANGED, FINDINGS,\n CALLS.") {
		t.Errorf("not each column is there or named:\n%s", out)
	}
	if out := print(SpendOf(spent[3:], nil, newYork), 80); !strings.Contains(out, "█") || !strings.Contains(out, "spent ?") {
		t.Errorf("without a price:\n%s", out)
	}
	if out := print(SpendOf(nil, nil, newYork), 80); !strings.Contains(out, "Since 2026-11-26, magicctx's agents have asked no model.") {
		t.Errorf("without a call: %s", out)
	}
}
