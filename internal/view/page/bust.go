package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/report"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

type bustRow struct {
	Index, Pass  int
	Cause, Class string
	// Taken says how much the bust removed. Result says whether it paid off, and Paid decides the colour of this text.
	Taken, Result string
	Paid          bool
	Facts         []fact
	Units         []unitRow
	// More counts the units that have no row of their own, and MoreTokens is their size in tokens.
	More, MoreTokens int
}

// A fact is a line of a bust's details, for example "cost" and "$0.054: ...".
type fact struct{ Name, Text string }

type unitRow struct {
	Tag                     int
	Unit, Label, Edit, Rule string
	Tokens                  int
}

func newBustRow(passes []*replay.Pass, index int, cause, class string, o replay.Outcome) bustRow {
	p := passes[index]
	row := bustRow{Index: index, Pass: p.Pass, Cause: cause, Class: class, Taken: takenOf(passes, index, o), Paid: o.PaidOffAt > 0}
	row.Result = resultOf(o)
	row.Facts = factsOf(p, o)
	all := slices.Clone(p.Taken)
	slices.SortStableFunc(all, func(a, b replay.Taken) int { return cmp.Compare(b.Tokens, a.Tokens) })
	for i, t := range all {
		if i >= maxUnits {
			row.More++
			row.MoreTokens += t.Tokens
			continue
		}
		unit := clean(cmp.Or(t.Tool, t.Unit))
		row.Units = append(row.Units, unitRow{t.Tag, unit, clean(t.Label), editName(t.Edit), clean(words.RuleName(t.Rule)), t.Tokens})
	}
	return row
}

// takenOf describes what a bust removed: units, and messages that the head replaces with a summary.
func takenOf(passes []*replay.Pass, index int, o replay.Outcome) string {
	var parts []string
	if n := unitsOf(passes[index].Taken); n > 0 {
		parts = append(parts, format.Count(n, "piece"))
	}
	before := 0
	if index > 0 {
		before = coveredBy(passes[index-1].Head)
	}
	if covered := coveredBy(passes[index].Head); covered > before {
		parts = append(parts, fmt.Sprintf("messages %d-%d (summarised)", before+1, covered))
	}
	if len(parts) == 0 {
		return "nothing went"
	}
	return strings.Join(append(parts, format.Tokens(o.Removed)+" tokens"), ", ") + " went"
}

func coveredBy(head *schema.HeadStatus) int {
	if head == nil {
		return 0
	}
	return head.Through
}

func unitsOf(taken []replay.Taken) int {
	tags := make(map[int]bool)
	for _, t := range taken {
		tags[t.Tag] = true
	}
	return len(tags)
}

func resultOf(o replay.Outcome) string {
	switch {
	case report.OutcomeNote(o) == "":
		return "cost next to nothing"
	case o.PaidOffAt > 0:
		return fmt.Sprintf("paid off at request %d", o.PaidOffAt)
	}
	return "did not pay off"
}

func factsOf(p *replay.Pass, o replay.Outcome) []fact {
	facts := []fact{
		{"cost", fmt.Sprintf("%s, for %s tokens that the provider took anew instead of reading them", format.Money(o.Cost), format.Tokens(o.Resent))},
		{"gain", fmt.Sprintf("%s by the end of the trace, for %s tokens that no later request carries", format.Money(o.Gain), format.Tokens(o.Removed))},
	}
	switch {
	case o.PaidOffAt > 0:
		facts = append(facts, fact{"in the end", fmt.Sprintf("it saved more than it cost from request %d on", o.PaidOffAt)})
	default:
		facts = append(facts, fact{"in the end", "it saved less than it cost"})
	}
	if o.NeededAt > 0 {
		facts = append(facts, fact{"room", fmt.Sprintf("without it, the prompt of request %d would have exceeded the window", o.NeededAt)})
	}
	if note := report.PriceNote(p); note != "" {
		facts = append(facts, fact{"estimate", note})
	}
	if p.LostBlocks > 0 {
		facts = append(facts, fact{"thinking", fmt.Sprintf("%s lost, about %s tokens", format.Count(p.LostBlocks, "block"), format.Tokens(p.LostTokens))})
	}
	return facts
}

var editNames = map[string]string{
	"clamp": "arguments cut", "skeleton": "result dropped", "drop": "dropped", "strip": "reminders out",
	"compress": "shortened", "unthink": "thinking out", "shell": "empty message out",
}

func editName(kind string) string { return cmp.Or(editNames[kind], clean(kind)) }
