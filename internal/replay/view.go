package replay

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// maxRows bounds the tables of the page; --json has everything.
	maxRows     = 200
	slowestRows = 8
	// maxName is how much of a name from the trace is shown.
	maxName = 120
)

// pageView is what the template of the page reads.
type pageView struct {
	Trace, Policy string
	Style         template.CSS
	Script        template.JS
	Tiles         []tile
	Findings      []findingRow
	MoreFindings  int
	Sessions      []sessionView
}

// A tile is one figure of the whole trace. Alarm is for what must not be.
type tile struct {
	Name, Value, Note string
	Alarm             bool
}

type findingRow struct {
	Pass                int
	Kind, Rule, Subject string
	Session             string // anchor; empty for a single session
}

func newPageView(s Summary, o PageOptions) pageView {
	v := pageView{Trace: clean(o.Trace), Tiles: tiles(s)}
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
		v.Sessions = append(v.Sessions, newSessionView(anchor(i), id, bySession[id], findings[anchor(i)]))
	}
	return v
}

func anchor(i int) string { return "session-" + strconv.Itoa(i+1) }

// bySession returns the sessions in the order of their first pass.
func bySession(passes []*Pass) ([]string, map[string][]*Pass) {
	var order []string
	by := make(map[string][]*Pass)
	for _, p := range passes {
		if by[p.Session] == nil {
			order = append(order, p.Session)
		}
		by[p.Session] = append(by[p.Session], p)
	}
	return order, by
}

func tiles(s Summary) []tile {
	sessions, _ := bySession(s.Detail)
	findings := s.UnexplainedBusts + len(s.InvariantViolations) + len(s.ValidatorHits)
	found := tile{Name: "findings", Value: "none", Note: "no unexplained bust, no broken invariant"}
	if findings > 0 {
		found = tile{"findings", strconv.Itoa(findings), fmt.Sprintf("%d unexplained, %d broken, %d refused", s.UnexplainedBusts, len(s.InvariantViolations), len(s.ValidatorHits)), true}
	}
	busts := "none unexplained"
	if s.UnexplainedBusts > 0 {
		busts = fmt.Sprintf("%d unexplained", s.UnexplainedBusts)
	}
	return []tile{
		{Name: "passes", Value: strconv.Itoa(s.Passes), Note: plural(len(sessions), "session", "sessions")},
		{Name: "busts", Value: strconv.Itoa(len(s.Busts)), Note: busts},
		{Name: "from cache", Value: share(s.Tokens), Note: "unmodified " + share(s.RawTokens)},
		{Name: "bill", Value: bill(s.Bill), Note: against(s.Bill, s.RawBill)},
		found,
	}
}

// bill writes an amount with three digits that matter, or more.
func bill(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x < 1:
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func against(ours, plain float64) string {
	note := "unmodified " + bill(plain)
	switch change := ours/plain - 1; {
	case plain == 0:
	case change <= -0.005:
		note += fmt.Sprintf(", %.0f%% less", -100*change)
	case change >= 0.005:
		note += fmt.Sprintf(", %.0f%% more", 100*change)
	}
	return note
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

func findingRows(s Summary, anchors map[int]string) []findingRow {
	var rows []findingRow
	for _, b := range s.Busts {
		if b.Cause == pipeline.BustUnexplained {
			rows = append(rows, findingRow{b.Pass, "unexplained bust", string(b.Verdict), "", anchors[b.Pass]})
		}
	}
	for _, f := range s.InvariantViolations {
		rows = append(rows, findingRow{f.Pass, "broken invariant", clean(f.Rule), clean(f.Detail), anchors[f.Pass]})
	}
	for _, f := range s.ValidatorHits {
		rows = append(rows, findingRow{f.Pass, "the provider would refuse it", clean(f.Rule), clean(f.Detail), anchors[f.Pass]})
	}
	slices.SortStableFunc(rows, func(a, b findingRow) int { return cmp.Compare(a.Pass, b.Pass) })
	return rows
}

// bustClasses are the answers of bustClass, the least worth a look first.
var bustClasses = []string{"ours", "outside", "unexplained"}

// bustClass says whose doing a bust is; it decides the colour.
func bustClass(cause string) string {
	switch cause {
	case pipeline.BustUnexplained, "":
		return "unexplained"
	case pipeline.BustTranscript, pipeline.BustSystem, string(pipeline.CauseModelChanged), string(pipeline.CauseIdle), string(pipeline.CauseFirstPass):
		return "outside"
	}
	return "ours"
}

// why explains a pass in the words of the journal, with its price.
func why(p *Pass) string {
	cause := causeOf(p)
	if note := priceNote(p); note != "" {
		return cause + ", " + note
	}
	return cause
}

func causeOf(p *Pass) string {
	switch {
	case p.Bust && p.BustCause == "":
		return "bust: " + pipeline.BustUnexplained
	case p.Bust:
		return "bust: " + clean(p.BustCause)
	}
	return clean(p.Cause)
}

// clean makes a name from the trace fit for the page: valid, and not endless.
// Escaping is the template's.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName-1]) + "…"
	}
	return name
}

func cleanVerdict(v schema.Verdict) string { return clean(string(v)) }
