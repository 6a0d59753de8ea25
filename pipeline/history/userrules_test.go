package history_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

// The first compartment is archived. Of its three rules, the newest compartment repeats one.
func TestRulesOfTheUserOutliveTheirCompartment(t *testing.T) {
	rule := func(words string, message, tiers int) chronicle.Rule {
		return chronicle.Rule{Words: words, Message: message, Tiers: tiers}
	}
	compartments := []chronicle.Compartment{{
		Start: 1, End: 10, Title: "Old", Tiers: [4]string{"U: Always use <tabs>."}, Importance: 1,
		Rules: []chronicle.Rule{rule("Always use <tabs> §3§.", 2, 1), rule("Never push to main.", 4, 0), rule("Always answer in French.", 6, 0)},
	}}
	for i := range 60 {
		compartments = append(compartments, chronicle.Compartment{Start: 11 + i, End: 11 + i, Title: "New", Tiers: [4]string{"new"}, Importance: 1})
	}
	last := &compartments[len(compartments)-1]
	last.Tiers[0], last.Missing = "U: Never push to main.", "Always sign."
	last.Rules = []chronicle.Rule{rule("Never push to main.", 70, 1), rule("Always sign.", 70, 0)}

	got := history.Baseline(history.BaselineInput{Compartments: compartments, CountText: tokens.Count, HistoryBudget: 4000})
	_, section, _ := strings.Cut(got.Text, "</session-history>\n\n")
	want := `<user-rules>
Rules in the user's own words, oldest first, from messages that summaries have replaced. A rule holds unless a later one, or a later message of the user, says otherwise.
  <rule message="2">Always use &lt;tabs&gt; § 3§.</rule>
  <rule message="6">Always answer in French.</rule>
  <rule message="70">Always sign.</rule>
</user-rules>`
	if section != want || got.Tiers[history.Archived-1] == 0 {
		t.Errorf("%d archived\n%s\nwant\n%s", got.Tiers[history.Archived-1], section, want)
	}
}

// The delta shows a rule that the newest summary lacks, because the next fold may be far away.
func TestDeltaShowsRulesThatASummaryLacks(t *testing.T) {
	c := chronicle.Compartment{Start: 1, End: 2, Title: "T", Tiers: [4]string{"U: Always sign."}, Missing: "Never push.", Rules: []chronicle.Rule{
		{Words: "Always sign.", Message: 1, Tiers: 1}, {Words: "Never push.", Message: 2},
	}}
	text := history.Delta(history.DeltaInput{Compartments: []chronicle.Compartment{c}, CountText: tokens.Count}).Text
	if !strings.Contains(text, "\n  <rule message=\"2\">Never push.</rule>\n</new-user-rules>") || strings.Contains(text, "<rule message=\"1\">") {
		t.Error(text)
	}
}

// At any decay, the baseline contains each lasting rule once: in a compartment, or in the section of rules.
func TestEachRuleOfTheUserIsInTheBaseline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []chronicle.Compartment
		for i := range rapid.IntRange(1, 40).Draw(t, "compartments") {
			c := chronicle.Compartment{Start: i + 1, End: i + 1, Title: "T", Importance: rapid.IntRange(1, 100).Draw(t, "importance")}
			words := fmt.Sprintf("Never use number %d again.", i)
			held := rapid.IntRange(0, 4).Draw(t, "tiers with the rule")
			for tier := range c.Tiers {
				c.Tiers[tier] = strings.Repeat("word ", rapid.IntRange(1, 100).Draw(t, "words"))
				if tier < held {
					c.Tiers[tier] += words
				}
			}
			c.Rules = []chronicle.Rule{{Words: words, Message: i + 1, Tiers: held}}
			all = append(all, c)
		}
		// The section of rules has room for about ten rules.
		rules := all[max(0, len(all)-10):]
		text := history.Baseline(history.BaselineInput{Compartments: all, CountText: tokens.Count, HistoryBudget: rapid.IntRange(4000, 20_000).Draw(t, "budget")}).Text
		for _, c := range rules {
			if n := strings.Count(text, c.Rules[0].Words); n != 1 {
				t.Fatalf("the baseline contains %q %d times:\n%s", c.Rules[0].Words, n, text)
			}
		}
	})
}
