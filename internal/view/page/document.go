package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/report"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// To keep the page small, it shows at most maxRows rows of a table, and for each bust at most maxUnits of the
	// edited units. `--json` prints all of them.
	maxRows     = 200
	maxUnits    = 40
	slowestRows = 8
	maxName     = 120
)

type pageView struct {
	Trace, Policy string
	Sentence      string
	Style         template.CSS
	Script        template.JS
	Missing       []string // the facts that the trace lacks
	Tiles         []tile
	Findings      []findingRow
	MoreFindings  int
	Sessions      []sessionView
	Marks         []markRow
}

type markRow struct {
	replay.MarksBill
	Money string
	Share float64
}

func markRows(all []replay.MarksBill) (rows []markRow) {
	most := 0.0
	for _, m := range all {
		most = max(most, m.Bill)
	}
	for _, m := range all {
		rows = append(rows, markRow{m, format.Money(m.Bill), m.Bill / max(most, 1e-9)})
	}
	return rows
}

// Alarm marks a figure that should be zero.
type tile struct {
	Name, Value, Note string
	Alarm             bool
}

type findingRow struct {
	Pass                int
	Kind, Rule, Subject string
	Session             string // the id of the session's section, empty if there is only one session
}

func newPageView(s replay.Summary, o Options) pageView {
	v := pageView{Trace: clean(o.Trace), Sentence: report.Sentence(s), Tiles: tiles(s), Marks: markRows(s.Marks)}
	outcomes := make(map[int]replay.Outcome, len(s.Busts))
	for _, b := range s.Busts {
		outcomes[b.Pass] = b.Outcome
	}
	for _, what := range s.Missing[:min(len(s.Missing), maxRows)] {
		v.Missing = append(v.Missing, clean(what))
	}
	order, bySession := bySession(s.Detail)
	anchors, findings := make(map[int]string), make(map[string]int)
	for i, id := range order {
		for _, p := range bySession[id] {
			anchors[p.Pass] = anchor(i)
		}
	}
	all := findingRows(s, anchors)
	for _, f := range all {
		findings[f.Session]++
	}
	v.Findings, v.MoreFindings = all[:min(len(all), maxRows)], max(len(all)-maxRows, 0)
	for i, id := range order {
		one := newSessionView(anchor(i), id, bySession[id], outcomes, findings[anchor(i)])
		if saved, ok := s.Saved[id]; ok {
			one.Cost += saved.Historian
			one.Against = words.OfHistorian(saved.Historian) + ", " + format.Saving(saved.Money)
			if saved.Early > 0 {
				one.Against += "; removing early saved " + format.AboutDollars(saved.Early)
			}
		}
		one.Total = format.Money(one.Cost)
		v.Sessions = append(v.Sessions, one)
	}
	return v
}

func anchor(i int) string { return "session-" + strconv.Itoa(i+1) }

func bySession(passes []*replay.Pass) ([]string, map[string][]*replay.Pass) {
	var order []string
	by := make(map[string][]*replay.Pass)
	for _, p := range passes {
		if by[p.Session] == nil {
			order = append(order, p.Session)
		}
		by[p.Session] = append(by[p.Session], p)
	}
	return order, by
}

func tiles(s replay.Summary) []tile {
	sessions, _ := bySession(s.Detail)
	paid := 0
	for _, b := range s.Busts {
		if b.Outcome.PaidOffAt > 0 {
			paid++
		}
	}
	all := []tile{
		{Name: format.Plural(s.Passes, "request"), Value: format.Grouped(s.Passes), Note: "in " + format.Count(len(sessions), "session")},
		promptTile(s),
		{Name: "from cache", Value: report.ReadShare(s.Tokens), Note: "unmodified " + report.ReadShare(s.RawTokens)},
		billTile(s),
		bustTile(len(s.Busts), paid),
	}
	if len(s.Folds)+len(s.Publishes) > 0 {
		all = append(all, foldTile(s))
	}
	if regret := s.Regret(); len(regret.Removals) > 0 {
		all = append(all, regretTile(regret))
	}
	return append(all, findingsTile(s))
}

func regretTile(r replay.Regret) tile {
	return tile{Name: "tokens read again", Value: format.Tokens(schema.SumOf(r.Removals).Reread), Note: clean(words.Regret(r.Removals, r.Cost))}
}

func billTile(s replay.Summary) tile {
	v, ok := s.Saving()
	if !ok {
		return tile{Name: "bill", Value: format.Money(s.Bill), Note: against(s.Bill, s.RawBill)}
	}
	return tile{Name: "bill", Value: format.Money(s.Cost()), Note: format.Saving(v.Money)}
}

func promptTile(s replay.Summary) tile {
	note := "tokens"
	if s.Prompts.Window > 0 {
		note = "of " + format.Tokens(s.Prompts.Window) + " tokens"
	}
	if len(s.Overflows) > 0 && s.Prompts.Unseen > 0 { // for an overflow, the unseen tokens count, too
		note = "and " + format.Tokens(s.Prompts.Unseen) + " that no trace shows, " + note
	}
	return tile{Name: "largest prompt", Value: format.Tokens(s.Prompts.Largest), Note: note + "; unmodified " + format.Tokens(s.Prompts.RawLargest), Alarm: len(s.Overflows) > 0}
}

func bustTile(busts, paid int) tile {
	note := fmt.Sprintf("%d of them paid off", paid)
	switch {
	case busts == 0:
		note = "the cache was never lost"
	case paid == busts && busts > 1:
		note = "all of them paid off"
	case busts == 1 && paid == 1:
		note = "it paid off"
	case busts == 1:
		note = "it did not pay off"
	}
	return tile{Name: format.Plural(busts, "bust"), Value: format.Grouped(busts), Note: note}
}

func foldTile(s replay.Summary) tile {
	note := cmp.Or(report.Publications(s.Publishes), "no run of the historian")
	return tile{Name: "summaries written anew", Value: format.Grouped(len(s.Folds)), Note: note}
}

func findingsTile(s replay.Summary) tile {
	if s.IsClean() {
		return tile{Name: "findings", Value: "none", Note: "no unexplained bust, no broken invariant, no overflow"}
	}
	var parts []string
	for _, kind := range []struct {
		n    int
		name string
	}{
		{s.UnexplainedBusts, "unexplained bust"},
		{len(s.InvariantViolations), "broken invariant"},
		{len(s.ValidatorHits), "refused wire"},
		{len(s.Overflows), "overflow"},
	} {
		if kind.n > 0 {
			parts = append(parts, format.Count(kind.n, kind.name))
		}
	}
	return tile{format.Plural(s.Findings(), "finding"), format.Grouped(s.Findings()), strings.Join(parts, ", "), true}
}

func against(ours, plain float64) string {
	note := "unmodified " + format.Money(plain)
	switch change := ours/plain - 1; {
	case plain == 0:
	case change <= -0.005:
		note += ", " + format.Percent(-change) + " less"
	case change >= 0.005:
		note += ", " + format.Percent(change) + " more"
	}
	return note
}

func findingRows(s replay.Summary, anchors map[int]string) []findingRow {
	var rows []findingRow
	for _, b := range s.Busts {
		if b.Cause == pipeline.BustUnexplained {
			rows = append(rows, findingRow{b.Pass, "unexplained bust", "", "", anchors[b.Pass]})
		}
	}
	for _, f := range s.InvariantViolations {
		rows = append(rows, findingRow{f.Pass, "broken invariant", clean(f.Rule), clean(f.Detail), anchors[f.Pass]})
	}
	for _, f := range s.ValidatorHits {
		rows = append(rows, findingRow{f.Pass, "the provider would refuse it", clean(f.Rule), clean(f.Detail), anchors[f.Pass]})
	}
	for _, e := range report.Excesses(s.Overflows) {
		row := findingRow{e.First, "overflow", "the prompt exceeds the window", e.Size(), anchors[e.First]}
		if e.Last > e.First {
			row.Rule = fmt.Sprintf("the prompts up to request %d exceed the window", e.Last)
			row.Subject = "up to " + row.Subject
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b findingRow) int { return cmp.Compare(a.Pass, b.Pass) })
	return rows
}

// The most harmless class comes first.
var bustClasses = []string{"ours", "outside", "unexplained"}

// bustClass returns the class that colours a bust: made by magicctx, caused from outside, or unexplained.
func bustClass(cause string) string {
	switch cause {
	case pipeline.BustUnexplained, "":
		return "unexplained"
	case pipeline.BustTranscript, pipeline.BustSystem, string(pipeline.CauseReverted), string(pipeline.CauseModelChanged), string(pipeline.CauseIdle), string(pipeline.CauseFirstPass):
		return "outside"
	}
	return "ours"
}

func why(p *replay.Pass) string {
	cause := causeOf(p)
	if note := report.PriceNote(p); note != "" {
		return cause + ", " + note
	}
	return cause
}

func causeOf(p *replay.Pass) string { return clean(report.CauseOf(p)) }

// clean removes unprintable characters from a name in the trace, and shortens a long name. It need not escape the name
// for HTML, because the template does.
func clean(name string) string {
	name = format.Clean(name)
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName-1]) + "…"
	}
	return name
}

func cacheOf(p *replay.Pass) string { return "cache " + report.CacheOf(p) }
