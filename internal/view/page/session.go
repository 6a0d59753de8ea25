package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/report"
	"github.com/magicctx/magicctx-host/internal/words"
)

// More lines for busts would hide the plot.
const maxBustLines = 40

// The plot has room for this many bust markers side by side. Busts that fall into the same place share a marker.
const markerSlots = 120

type sessionView struct {
	Anchor, Name, Model string
	Passes, Busts       int
	Findings            int
	HitRate             string
	// Bill and PlainBill are the costs of the prompts with and without magicctx, and Against compares the two. Cost
	// adds the historian's runs to the bill. Total is Cost as a text.
	Bill, PlainBill, Total, Against string
	Cost                            float64
	LastPrompt                      int
	LastPlain                       int

	Last          int  // the index of the newest pass
	Sizes         plot // the prompts with and without magicctx
	Unmodified    string
	SizeLimits    []limit
	Refusal       *refusal
	Context       plot
	Limits        []limit
	Costs         plot
	PlainCosts    string
	Cache         plot
	PassMarks     []mark
	Each          int
	Markers       []marker
	HasBustLines  bool
	Causes        []causeCount
	ContextValues []reading
	CacheValues   []reading
	Headline      string

	// Standing describes the head and the summarised history after the last pass. HistoryRows are the passes
	// that folded the head or reported a publication.
	Standing    []string
	HistoryRows []historyRow
	MoreHistory int

	BustRows  []bustRow
	MoreBusts int
	Slowest   []slowRow
	Data      passData
}

// A refusal marks the first prompt that the provider would have refused if the session had run without magicctx.
type refusal struct {
	// At is the place of the mark from the left. Window is the place of the window's line from the top.
	At, Window float64
	Label      string
	// If IsLate is true, the mark is near the right end, and its label is to the left of the mark.
	IsLate bool
}

// A limit is a horizontal line in the context plot. Class is "window" or "threshold".
type limit struct {
	mark
	Class string
}

type marker struct {
	At    float64
	Class string
}

type causeCount struct {
	Cause, Class string
	Count        int
}

type reading struct {
	series
	Value string
}

type historyRow struct {
	Index, Pass int
	Notes       []string
}

type slowRow struct {
	Index, Pass         int
	HostMS, CallMS      float64
	Cache, Why          string
	Messages, WireToken int
	Share               float64
}

func newSessionView(anchor, id string, passes []*replay.Pass, outcomes map[int]replay.Outcome, findings int) sessionView {
	c := columnsOf(len(passes))
	last := passes[len(passes)-1]
	v := sessionView{
		Anchor: anchor, Name: clean(id), Model: clean(last.Model), Passes: len(passes), Findings: findings,
		Last: len(passes) - 1, Each: c.each, PassMarks: passMarks(passes, c), Headline: headline(last),
		Slowest: slowest(passes), Data: dataOf(passes, c),
	}
	var sum, plain replay.Tokens
	var ours, raw float64
	for _, p := range passes {
		sum, plain = sum.Plus(p.Tokens), plain.Plus(p.Raw)
		ours, raw = ours+p.Bill, raw+p.RawBill
	}
	v.LastPrompt, v.LastPlain, v.PlainBill = last.Tokens.Prompt(), last.Raw.Prompt(), format.Money(raw)
	v.HitRate, v.Bill, v.Cost, v.Against = report.ReadShare(sum), format.Money(ours), ours, ", "+against(ours, raw)

	top, limits := scale(passes)
	v.Limits = limits
	v.Context = stack(passes, contextSeries, c, top, fullest)
	v.addSizes(passes, c)
	v.addCosts(passes, c)
	v.Cache = stack(passes, cacheSeries, c, cacheTop(passes, c), average)
	for _, s := range contextSeries {
		v.ContextValues = append(v.ContextValues, reading{s, format.Tokens(s.of(last))})
	}
	for _, s := range cacheSeries {
		v.CacheValues = append(v.CacheValues, reading{s, format.Tokens(s.of(last))})
	}
	v.addBusts(passes, c, outcomes)
	v.addHistory(passes)
	return v
}

func (v *sessionView) addHistory(passes []*replay.Pass) {
	last := passes[len(passes)-1]
	v.Standing = words.HistoryLines(last.Head, last.History)
	for i, p := range passes {
		notes := report.HistoryNotes(p)
		switch {
		case len(notes) == 0:
		case len(v.HistoryRows) < maxRows:
			v.HistoryRows = append(v.HistoryRows, historyRow{i, p.Pass, notes})
		default:
			v.MoreHistory++
		}
	}
}

// scale returns the size at the top of the plot, and the lines for the threshold and the window. If the window is far
// larger than the prompts, its line would flatten the curves. So a text mentions the window instead.
func scale(passes []*replay.Pass) (float64, []limit) {
	full, last := 1, passes[len(passes)-1]
	for _, p := range passes {
		full = max(full, p.Sources.Total())
	}
	window, threshold := last.WindowTokens, last.ThresholdTokens
	if window == 0 {
		return float64(full) * 1.15, nil
	}
	if float64(full) < 0.35*float64(window) {
		return float64(full) * 1.25, []limit{{mark{0, "window " + format.Tokens(window) + ", beyond this chart"}, "beyond"}}
	}
	top := 1.12 * float64(max(full, window))
	lines := []limit{{mark{1 - float64(window)/top, "window " + format.Tokens(window)}, "window"}}
	if threshold > 0 {
		lines = append(lines, limit{mark{1 - float64(threshold)/top, "execute threshold " + format.Tokens(threshold)}, "threshold"})
	}
	return top, lines
}

func (v *sessionView) addSizes(passes []*replay.Pass, c columns) {
	own := func(p *replay.Pass) int { return p.Tokens.Prompt() }
	raw := func(p *replay.Pass) int { return p.Raw.Prompt() }
	window, full := passes[len(passes)-1].WindowTokens, 1
	for _, p := range passes {
		full = max(full, own(p), raw(p))
	}
	top := 1.08 * float64(full)
	if isNear := float64(full) >= 0.35*float64(window); isNear && window > 0 {
		top = 1.08 * float64(max(full, window))
		v.SizeLimits = []limit{{mark{1 - float64(window)/top, "window " + format.Tokens(window)}, "window"}}
	} else if window > 0 {
		v.SizeLimits = []limit{{mark{0, "window " + format.Tokens(window) + ", beyond this chart"}, "beyond"}}
	}
	v.Sizes = plot{Width: c.width, Height: curveHeight, Grid: grid(top), Curves: []curve{{"prompt", steps(heights(passes, c, own, most), top, true)}}}
	v.Unmodified = steps(heights(passes, c, raw, most), top, false)
	for i, p := range passes {
		if p.WindowTokens > 0 && raw(p) > p.WindowTokens {
			v.Refusal = &refusal{c.at(i), 1 - float64(p.WindowTokens)/top, fmt.Sprintf("unmodified: refused at request %d", p.Pass), c.at(i) > 0.6}
			break
		}
	}
}

func (v *sessionView) addCosts(passes []*replay.Pass, c columns) {
	var own, raw []float64
	var sum, rawSum float64
	for i, p := range passes {
		sum, rawSum = sum+p.Bill, rawSum+p.RawBill
		if (i+1)%c.each == 0 || i == len(passes)-1 {
			own, raw = append(own, sum), append(raw, rawSum)
		}
	}
	top := 1.08 * max(sum, rawSum)
	if top == 0 {
		top = 1
	}
	v.Costs = plot{Width: c.width, Height: curveHeight, Grid: moneyGrid(top), Curves: []curve{{"cost", steps(own, top, true)}}}
	v.PlainCosts = steps(raw, top, false)
}

func cacheTop(passes []*replay.Pass, c columns) float64 {
	top := 1.0
	for _, h := range heights(passes, c, func(p *replay.Pass) int { return p.Tokens.Prompt() }, average) {
		top = max(top, h)
	}
	return top * 1.1
}

func (v *sessionView) addBusts(passes []*replay.Pass, c columns, outcomes map[int]replay.Outcome) {
	bySlot := make(map[int]marker)
	counts := make(map[causeCount]int)
	for i, p := range passes {
		if !p.Bust {
			continue
		}
		v.Busts++
		cause, class := clean(report.CauseOf(p)), bustClass(p.BustCause)
		counts[causeCount{Cause: cause, Class: class}]++
		if slot := int(c.at(i) * markerSlots); slices.Index(bustClasses, class) > slices.Index(bustClasses, bySlot[slot].Class) {
			bySlot[slot] = marker{c.at(i), class}
		}
		if len(v.BustRows) < maxRows {
			v.BustRows = append(v.BustRows, newBustRow(passes, i, cause, class, outcomes[p.Pass]))
		} else {
			v.MoreBusts++
		}
	}
	for _, m := range bySlot {
		v.Markers = append(v.Markers, m)
	}
	slices.SortFunc(v.Markers, func(a, b marker) int { return cmp.Compare(a.At, b.At) })
	v.HasBustLines = v.Busts <= maxBustLines
	for c, n := range counts {
		c.Count = n
		v.Causes = append(v.Causes, c)
	}
	slices.SortFunc(v.Causes, func(a, b causeCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Cause, b.Cause)) })
}

func slowest(passes []*replay.Pass) []slowRow {
	order := make([]int, len(passes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(passes[b].HostMS, passes[a].HostMS) })
	var rows []slowRow
	for _, i := range order[:min(len(order), slowestRows)] {
		p := passes[i]
		rows = append(rows, slowRow{
			i, p.Pass, p.HostMS, p.CallMS, cacheOf(p), causeOf(p), p.Messages, p.WireTokens,
			p.HostMS / math.Max(passes[order[0]].HostMS, 1e-9),
		})
	}
	return rows
}

func headline(p *replay.Pass) string {
	line := fmt.Sprintf("request %d, %s", p.Pass, cacheOf(p))
	if w := why(p); w != "" {
		line += ", " + w
	}
	return line
}

// passData holds the passes for the page's script. It has one array for each field, because that is shorter than one
// object for each pass. Values holds the series of contextSeries first, then the series of cacheSeries.
type passData struct {
	Width  int      `json:"width"` // the number of passes for which the plot has columns
	Pass   []int    `json:"pass"`
	Head   []int    `json:"head"` // indexes into Heads
	Heads  []string `json:"heads"`
	Values [][]int  `json:"values"`
	Parts  int      `json:"parts"` // the number of leading Values that add up to the prompt
	Plain  []int    `json:"plain"`
	// Cost and PlainCost are the bills up to each pass, in $.
	Cost      []float64 `json:"cost"`
	PlainCost []float64 `json:"plainCost"`
	HostMS    []float64 `json:"ms"`
	Busts     []int     `json:"busts"` // indexes of the passes that bust
}

func dataOf(passes []*replay.Pass, c columns) passData {
	all := slices.Concat(contextSeries, cacheSeries)
	d := passData{Width: c.each * c.width, Values: make([][]int, len(all)), Parts: len(contextSeries), Busts: []int{}, Heads: []string{}}
	known := make(map[string]int)
	var cost, plainCost float64
	for i, p := range passes {
		cost, plainCost = cost+p.Bill, plainCost+p.RawBill
		d.Cost, d.PlainCost = append(d.Cost, math.Round(cost*1e4)/1e4), append(d.PlainCost, math.Round(plainCost*1e4)/1e4)
		head := cacheOf(p)
		if w := why(p); w != "" {
			head += ", " + w
		}
		n, ok := known[head]
		if !ok {
			n = len(d.Heads)
			known[head] = n
			d.Heads = append(d.Heads, head)
		}
		d.Pass, d.Head, d.Plain = append(d.Pass, p.Pass), append(d.Head, n), append(d.Plain, p.Raw.Prompt())
		d.HostMS = append(d.HostMS, math.Round(p.HostMS*100)/100)
		for j, s := range all {
			d.Values[j] = append(d.Values[j], s.of(p))
		}
		if p.Bust {
			d.Busts = append(d.Busts, i)
		}
	}
	return d
}
