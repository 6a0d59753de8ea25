package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

// minHitRate is the smallest allowed share of prompt tokens that come from the cache.
const minHitRate = 0.94

// The bill may be at most maxHindsight times as high as it would be if the same content had been removed at the best
// times (figure.Hindsight).
const maxHindsight = 1.15

// maxLineShare is the largest share of the bill that magicctx's reminder lines may cost.
const maxLineShare = 0.005

type reports []report

type report struct {
	Scene    string          `json:"scene"`
	Window   int             `json:"window"` // in tokens
	Route    string          `json:"route"`  // the route that decides cache and prices
	Reads    float64         `json:"reads"`  // the price of reading as a share of the input price
	Spending schema.Spending `json:"spending"`
	Runs     []figure        `json:"runs"`
	Misses   []string        `json:"misses"`

	scene    scene
	maxRatio float64
}

// A figure is the result of a scene in one variant, for example without the historian. Sizes are in tokens as
// internal/tokens counts them, and amounts are in US dollars.
type figure struct {
	Name      string `json:"name"`
	Turns     int    `json:"turns"`
	Finished  int    `json:"finished"` // the number of turns that were answered
	Requests  int    `json:"requests"`
	Summaries int    `json:"summaries"`
	// Runs are the requests of the historian. HistorianBill is the cost of these requests and of their answers.
	Runs          []historianRun `json:"historian_runs,omitempty"`
	HistorianBill float64        `json:"historian_bill"`
	Busts         int            `json:"busts"`
	HitRate       float64        `json:"hit_rate"`
	Peak          int            `json:"peak"`
	Overflows     int            `json:"overflows"`
	Strangers     int            `json:"strangers"`
	Fresh         int            `json:"fresh"`
	Written       int            `json:"written"`
	Read          int            `json:"read"`
	Output        int            `json:"output"`
	Bill          float64        `json:"bill"` // the cost of the prompts, without the answers
	// Reads, Anew and Answers are parts of the cost, without the historian: tokens read from the cache, all other
	// prompt tokens, and answers. WithOutput is the bill including answers.
	Reads      float64 `json:"bill_reads"`
	Anew       float64 `json:"bill_anew"`
	Answers    float64 `json:"bill_answers"`
	WithOutput float64 `json:"bill_with_output"`
	// Ratio is WithOutput of this run, divided by WithOutput of the run with OpenCode's own compaction. If there is no
	// such run, or if a turn of this run got no answer, Ratio is 0.
	Ratio float64 `json:"ratio"`
	// Hindsight is the value that WithOutput would have if busts had happened at the best times. BestBusts is the
	// number of these busts. Without magicctx, both are 0.
	Hindsight float64             `json:"hindsight"`
	BestBusts int                 `json:"best_busts"`
	Seconds   float64             `json:"seconds"`
	BustsAt   []bust              `json:"busts_at"`
	Causes    []schema.CauseCount `json:"causes,omitempty"`
	// Removals are the tokens that magicctx removed, by rule and cause. RereadBill is the cost of the removed tokens
	// that the model soon read again.
	Removals   []schema.Removal `json:"removals,omitempty"`
	RereadBill float64          `json:"reread_bill,omitzero"`
	Recalls    []recall         `json:"recalls,omitempty"`
	// LineShare is the share of the bill that magicctx's reminder lines cost, from 0 to 1.
	Lines     int             `json:"lines,omitzero"`
	isProbed  bool            // the user has come back to the needles
	LineShare float64         `json:"line_share,omitzero"`
	Thinking  *thinkingFigure `json:"thinking,omitempty"`
}

type thinkingFigure struct {
	Sent    int     `json:"sent"`    // thinking blocks in all requests together
	Invalid int     `json:"invalid"` // sent blocks that were invalid
	Tainted int     `json:"tainted"` // requests with an invalid block
	Lost    int     `json:"lost"`    // blocks that a request left out although it was no bust
	Valid   float64 `json:"valid"`   // share of the sent blocks that were valid
	Kept    float64 `json:"kept"`    // the valid blocks in all requests, divided by all blocks that the model had made until each request
}

func newReport(s scene, by billed, spending schema.Spending, results []result) report {
	rep := report{
		Scene: s.name, scene: s, Window: s.limits.Context, Route: by.route.Name, Reads: by.reads(), Spending: spending, maxRatio: s.maxRatio(spending, by.reads()), Misses: []string{},
	}
	base := 0.0
	for _, r := range results {
		if r.Name == withCompaction.name {
			base = r.fullBill()
		}
	}
	for _, r := range results {
		f := figure{
			Name: r.Name, Turns: r.Turns, Finished: r.tally.Turns, Requests: r.Requests, Summaries: r.Summaries, Runs: r.Runs, HistorianBill: promptcache.Bill(r.ofHistorian(), by.prices),
			Busts: len(r.Busts), HitRate: r.hitRate(), Peak: r.Peak, Overflows: r.Overflows, Strangers: r.Strangers,
			Fresh: r.Tokens.Fresh, Written: r.Tokens.Write, Read: r.Tokens.Read, Output: r.Tokens.Output,
			Bill: r.bill(), WithOutput: r.fullBill(), Seconds: r.Duration.Seconds(), BustsAt: r.Busts, Causes: r.causes, Recalls: r.recalls, Lines: r.lines, LineShare: r.lineShare, isProbed: r.isProbed,
			Removals: r.removals, RereadBill: promptcache.Bill(promptcache.Tokens{Write: schema.SumOf(r.removals).Reread}, by.prices),
		}
		f.Reads, f.Anew, f.Answers = r.parts()
		if r.variant.plugin {
			f.Hindsight, f.BestBusts = f.WithOutput-r.excess, len(r.best)
		}
		if k := r.Thinking; by.binds {
			f.Thinking = &thinkingFigure{Sent: k.Sent, Invalid: k.invalid(), Tainted: k.Tainted, Lost: k.Lost, Valid: k.valid(), Kept: k.kept()}
		}
		if base > 0 && f.Finished == f.Turns {
			f.Ratio = f.WithOutput / base
		}
		rep.Runs = append(rep.Runs, f)
		if f.Name == withMagicctx.name {
			rep.Misses = append(rep.Misses, f.lostNeedles(rep.Runs)...)
			rep.Misses = append(rep.Misses, f.misses(s, rep.maxRatio)...)
		}
	}
	return rep
}

func (f figure) misses(s scene, maxRatio float64) []string {
	var all []string
	miss := func(isMissed bool, format string, args ...any) {
		if isMissed {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	miss(f.Finished < f.Turns, "%d of %d turns got no answer", f.Turns-f.Finished, f.Turns)
	miss(f.Strangers > 0, "requests that are not of the story: %d", f.Strangers)
	miss(f.Overflows > 0, "prompts that were too long for the window: %d", f.Overflows)
	miss(f.Peak >= s.limits.Context, "the peak of %s tokens is not below the window of %s", format.Grouped(f.Peak), format.Grouped(s.limits.Context))
	miss(f.Busts > s.maxBusts, "%d busts are more than %d", f.Busts, s.maxBusts)
	miss(f.cold() > 0 && !s.coldHead, "busts that kept the baseline, but did not read it from the cache: %d", f.cold())
	miss(f.HitRate < minHitRate, "the hit rate of %s is below %s", format.FinePercent(f.HitRate), format.FinePercent(minHitRate))
	miss(f.Ratio > maxRatio, "the bill is %.3f times OpenCode's, more than %.2f", f.Ratio, maxRatio)
	miss(f.besideHindsight() > maxHindsight, "the bill is %.3f times that at the best bust times, more than %.2f", f.besideHindsight(), maxHindsight)
	miss(f.LineShare > maxLineShare, "the delivered lines are %.2f %% of the bill, more than %.1f %%", 100*f.LineShare, 100*maxLineShare)
	if n := len(f.Recalls); n > 0 && f.isProbed {
		last := f.Recalls[n-1]
		miss(last.known() < s.minKnown, "the model knows %s of the needles, less than %s", format.Percent(last.known()), format.Percent(s.minKnown))
	}
	if k := f.Thinking; k != nil {
		miss(k.Invalid > 0, "thinking blocks whose prefix has changed: %d", k.Invalid)
		miss(k.Lost > 0, "valid thinking blocks left out without a bust: %d", k.Lost)
	}
	return all
}

func (all reports) miss() bool {
	return slices.ContainsFunc(all, func(r report) bool { return len(r.Misses) > 0 })
}

func (all reports) writeTables(w io.Writer) error { return all.write(w, report.writeTable) }

func (all reports) writeRecalls(w io.Writer) error { return all.write(w, report.writeRecall) }

func (all reports) write(w io.Writer, write func(report, io.Writer) error) error {
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := write(r, w); err != nil {
			return err
		}
	}
	return nil
}

func (all reports) writeJSON(w io.Writer) error {
	content, err := json.MarshalIndent(all)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", content)
	return err
}

type row struct {
	label string
	cell  func(figure) string
	bound string
}

func (r report) rows() []row {
	count := func(n func(figure) int) func(figure) string {
		return func(f figure) string { return format.Grouped(n(f)) }
	}
	rows := []row{
		{"turns answered", func(f figure) string { return fmt.Sprintf("%d of %d", f.Finished, f.Turns) }, "all"},
		{"requests", count(func(f figure) int { return f.Requests }), ""},
		{"- of these summaries", count(func(f figure) int { return f.Summaries }), ""},
		{"- of these the historian's", count(func(f figure) int { return len(f.Runs) }), ""},
		{"busts", count(func(f figure) int { return f.Busts }), fmt.Sprintf("≤ %d", r.scene.maxBusts)},
		{"- of these with the baseline kept", count(func(f figure) int { return f.soft() }), ""},
		{"-- and not read from the cache", count(func(f figure) int { return f.cold() }), "0"},
		{"hit rate", func(f figure) string { return format.FinePercent(f.HitRate) }, "≥ " + format.FinePercent(minHitRate)},
		{"peak, tokens", count(func(f figure) int { return f.Peak }), "< " + format.Grouped(r.Window)},
		{"overflows", count(func(f figure) int { return f.Overflows }), "0"},
		{"tokens fresh", count(func(f figure) int { return f.Fresh }), ""},
		{"tokens written", count(func(f figure) int { return f.Written }), ""},
		{"tokens read", count(func(f figure) int { return f.Read }), ""},
		{"tokens of output", count(func(f figure) int { return f.Output }), ""},
		{"bill of the prompts", func(f figure) string { return format.Money(f.Bill) }, ""},
		{"bill with the answers", func(f figure) string { return format.Money(f.WithOutput) }, ""},
		{"- of it reads", func(f figure) string { return format.Money(f.Reads) }, ""},
		{"- of it tokens not in the cache", func(f figure) string { return format.Money(f.Anew) }, ""},
		{"- of it answers", func(f figure) string { return format.Money(f.Answers) }, ""},
		{"- of it the historian", func(f figure) string { return format.Money(f.HistorianBill) }, ""},
		{"- beside OpenCode's", ratio, fmt.Sprintf("≤ %.2f", r.maxRatio)},
		{"bill at the best bust times", func(f figure) string { return unless(f.Hindsight == 0, format.Money(f.Hindsight)) }, ""},
		{"- the number of these busts", func(f figure) string { return unless(f.Hindsight == 0, format.Grouped(f.BestBusts)) }, ""},
		{"- the bill beside it", func(f figure) string { return unless(f.Hindsight == 0, fmt.Sprintf("%.3f", f.besideHindsight())) }, fmt.Sprintf("≤ %.2f", maxHindsight)},
		{"time, s", func(f figure) string { return fmt.Sprintf("%.0f", f.Seconds) }, ""},
	}
	if len(r.Runs) == 0 || r.Runs[0].Thinking == nil {
		return rows
	}
	return append(rows,
		row{"thinking blocks sent", count(func(f figure) int { return f.Thinking.Sent }), ""},
		row{"- of these invalid", count(func(f figure) int { return f.Thinking.Invalid }), "0"},
		row{"- share that was valid", func(f figure) string { return format.FinePercent(f.Thinking.Valid) }, ""},
		row{"- requests with an invalid one", count(func(f figure) int { return f.Thinking.Tainted }), ""},
		row{"left out without a bust", count(func(f figure) int { return f.Thinking.Lost }), "0"},
		row{"share of all, sent and valid", func(f figure) string { return format.FinePercent(f.Thinking.Kept) }, ""},
	)
}

func ratio(f figure) string { return unless(f.Ratio == 0, fmt.Sprintf("%.3f", f.Ratio)) }

func unless(isEmpty bool, text string) string {
	if isEmpty {
		return "-"
	}
	return text
}

// besideHindsight returns the bill divided by Hindsight. If Hindsight is unknown, it returns 1.
func (f figure) besideHindsight() float64 {
	if f.Hindsight == 0 {
		return 1
	}
	return f.WithOutput / f.Hindsight
}

func (r report) writeTable(w io.Writer) error {
	lines := [][]string{r.line("", func(f figure) string { return f.Name }, "bound")}
	for _, row := range r.rows() {
		lines = append(lines, r.line(row.label, row.cell, row.bound))
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d turns in a window of %s tokens, cache and prices by the rules of %s, reads at %g of the input price, spending %s\n\n",
		r.Scene, r.scene.turns, format.Grouped(r.Window), r.Route, r.Reads, r.Spending)
	for _, line := range lines {
		text := fmt.Sprintf("%-*s", widths[0], line[0])
		for i, cell := range line[1:] {
			text += fmt.Sprintf("   %*s", widths[i+1], cell)
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	for _, f := range r.Runs {
		for _, c := range f.Causes {
			fmt.Fprintf(&b, "%s's journal: %d × %s\n", f.Name, c.Count, c.Cause)
		}
		if len(f.Removals) > 0 {
			fmt.Fprintf(&b, "read again after %s had removed it: %s\n", f.Name, words.Regret(f.Removals, f.RereadBill))
		}
	}
	for _, miss := range r.Misses {
		fmt.Fprintf(&b, "missed: %s\n", miss)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r report) line(label string, cell func(figure) string, bound string) []string {
	cells := []string{label}
	for _, f := range r.Runs {
		cells = append(cells, cell(f))
	}
	return append(cells, bound)
}

// lostNeedles returns a complaint for each turn in which magicctx had lost needles. It also looks at the run of the
// same scene with OpenCode's own compaction. If this run has written summaries, magicctx's last prompt must contain
// more needles than the last prompt of this run. If it does not, there is another complaint.
func (f figure) lostNeedles(others []figure) (all []string) {
	for _, r := range f.Recalls {
		if r.Lost > 0 {
			all = append(all, fmt.Sprintf("turn %d: lost needles: %v", r.Turn, r.LostKinds))
		}
	}
	for _, o := range others {
		if n := len(f.Recalls); o.Name == withCompaction.name && o.Summaries > 0 && n > 0 && len(o.Recalls) == n {
			ours, theirs := f.Recalls[n-1].inPrompt(), o.Recalls[n-1].inPrompt()
			if ours <= theirs {
				all = append(all, fmt.Sprintf("the last prompt holds %d needles, and OpenCode's holds %d", ours, theirs))
			}
		}
	}
	return all
}

func (r report) writeRecall(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d turns in a window of %s tokens: one needle a turn (%s)\n\n", r.scene.turns, format.Grouped(r.Window), strings.Join(needleKinds[:], ", "))
	fmt.Fprintf(&b, "%-20s%8s%8s%12s%12s%12s%8s%12s%10s%10s\n", "", "turn", "told", "verbatim", "summary", "ctx_expand", "lost", "ctx_search", "arrived", "bill")
	for _, f := range r.Runs {
		for i, c := range f.Recalls {
			bill, found, arrived := "", "", ""
			if i == len(f.Recalls)-1 {
				bill, found, arrived = format.Money(f.WithOutput), fmt.Sprint(c.Searchable), fmt.Sprint(c.Arrived)
			}
			fmt.Fprintf(&b, "%-20s%8d%8d%12d%12d%12d%8d%12s%10s%10s\n", f.Name, c.Turn, c.Told, c.Verbatim, c.Summary, c.Expandable, c.Lost, found, arrived, bill)
		}
	}
	for _, f := range r.Runs {
		if n := len(f.Recalls); n > 0 {
			fmt.Fprintf(&b, "%s's last prompt holds:", f.Name)
			for _, kind := range needleKinds {
				fmt.Fprintf(&b, " %s %d;", kind, f.Recalls[n-1].PromptKinds[kind])
			}
			fmt.Fprintln(&b)
		}
	}
	for _, f := range r.Runs {
		if n := len(f.Recalls); n > 0 && f.isProbed {
			last := f.Recalls[n-1]
			fmt.Fprintf(&b, "%s's lines:", f.Name)
			for _, kind := range needleKinds {
				fmt.Fprintf(&b, " %s %d;", kind, last.ArrivedKinds[kind])
			}
			fmt.Fprintln(&b)
			fmt.Fprintf(&b, "%s has %s of the needles in the last prompt or lets them arrive when the user comes back to their subject; its %s have %.2f %% of the bill\n",
				f.Name, format.Percent(last.known()), format.Count(f.Lines, "line"), 100*f.LineShare)
		}
	}
	for _, miss := range r.Misses {
		fmt.Fprintf(&b, "missed: %s\n", miss)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// soft counts busts that did not change the baseline. cold counts the soft busts whose baseline was not fully cached.
func (f figure) soft() int { return f.busts(func(b bust) bool { return b.Soft }) }
func (f figure) cold() int { return f.busts(func(b bust) bool { return b.Cold }) }

func (f figure) busts(is func(bust) bool) (n int) {
	for _, b := range f.BustsAt {
		if is(b) {
			n++
		}
	}
	return n
}
