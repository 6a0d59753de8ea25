package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/report"
	"github.com/magicctx/magicctx-host/schema"
)

func page(t testing.TB, s replay.Summary, trace string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, Options{Trace: trace}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func summaryOf(passes ...*replay.Pass) replay.Summary {
	for i, p := range passes {
		p.Pass = i + 1
		if p.Session == "" {
			p.Session = "ses_one"
		}
		if p.Verdict == "" {
			p.Verdict = schema.Steady
		}
	}
	return (&replay.Report{Passes: passes}).Summary()
}

func passOf(results, written, read int) *replay.Pass {
	return &replay.Pass{Sources: replay.Sources{System: written + read - results, Results: results}, Tokens: promptcache.Tokens{Write: written, Read: read}}
}

func TestPageEscapesTheTextsOfTheTrace(t *testing.T) {
	const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"' style=x {{.}}`
	p := passOf(10, 20, 30)
	p.Session, p.Model, p.Verdict, p.Bust, p.BustCause, p.Cause = hostile, hostile, hostile, true, hostile, hostile
	p.Taken = []replay.Taken{{Tag: 1, Unit: hostile, Tool: hostile, Label: hostile, Edit: hostile, Rule: hostile}}
	s := summaryOf(p, passOf(1, 2, 3))
	s.ValidatorHits = []replay.Finding{{Pass: 1, Rule: hostile, Detail: hostile}}
	s.InvariantViolations = []replay.Finding{{Pass: 2, Rule: hostile}}
	got := page(t, s, hostile)
	for _, raw := range []string{"<script>alert", "<img", "<!--"} {
		if strings.Contains(got, raw) {
			t.Errorf("the page has %q", raw)
		}
	}
	// The page has three scripts: its own, and one with the data of each of the two sessions.
	if n := strings.Count(got, "</script"); n != 3 {
		t.Errorf("%d scripts end, want 3", n)
	}
	if !strings.Contains(got, "&lt;/script&gt;&lt;script&gt;alert(1)") {
		t.Error("the name is not shown as the text that it is")
	}
}

func TestPageLoadsNothing(t *testing.T) {
	got := page(t, summaryOf(passOf(10, 20, 30)), "a.jsonl")
	for _, load := range []string{"src=", "<link", "url(", "@import", "http:", "https:", "fetch("} {
		if strings.Contains(got, load) {
			t.Errorf("the page has %q", load)
		}
	}
	if !strings.Contains(got, `content="default-src &#39;none&#39;`) {
		t.Error("the page does not forbid loading")
	}
}

func TestPageShowsFindingsOnlyWhenThereAreAny(t *testing.T) {
	clean := summaryOf(passOf(10, 20, 30))
	if got := page(t, clean, "a"); strings.Contains(got, `class="findings"`) || strings.Contains(got, `class="tile alarm"`) {
		t.Error("a clean replay raises an alarm")
	}
	bad := passOf(10, 20, 30)
	bad.Bust, bad.BustCause = true, "unexplained"
	s := summaryOf(passOf(10, 20, 30), bad)
	s.ValidatorHits = []replay.Finding{{Pass: 2, Rule: "orphaned result", Detail: "msg_7"}}
	got := page(t, s, "a")
	for _, want := range []string{`class="findings"`, `class="tile alarm"`, "unexplained bust", "orphaned result", "msg_7", `data-pass="2"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageOfNoPasses(t *testing.T) {
	if got := page(t, replay.Summary{}, "empty"); !strings.Contains(got, "Replay of <bdi>empty") || strings.Contains(got, "<svg") {
		t.Error("a trace without passes has no page of its own")
	}
}

func TestSessionsAreApart(t *testing.T) {
	var passes []*replay.Pass
	for i := range 6 {
		p := passOf(10, 20, 30)
		p.Session = fmt.Sprintf("ses_%d", i%3)
		passes = append(passes, p)
	}
	v := newPageView(summaryOf(passes...), Options{})
	if len(v.Sessions) != 3 {
		t.Fatalf("%d sessions, want 3", len(v.Sessions))
	}
	for i, s := range v.Sessions {
		if s.Passes != 2 || s.Name != fmt.Sprintf("ses_%d", i) || s.Data.Pass[0] != i+1 || s.Data.Pass[1] != i+4 {
			t.Errorf("session %d is %s with passes %v", i, s.Name, s.Data.Pass)
		}
	}
}

func TestDrawingIsBoundedForAnyPasses(t *testing.T) {
	size := func(n int) int {
		passes := make([]*replay.Pass, n)
		for i := range passes {
			passes[i] = passOf(i%977, 100+i%89, 1000+i%1013)
			passes[i].Bust, passes[i].BustCause = i%3 == 0, "pressure"
		}
		v := newPageView(summaryOf(passes...), Options{}).Sessions[0]
		drawn := len(v.Unmodified) + len(v.PlainCosts) + 40*len(v.Markers) + 100*len(v.BustRows)
		for _, c := range slices.Concat(v.Sizes.Curves, v.Costs.Curves, v.Context.Curves, v.Cache.Curves) {
			drawn += len(c.Path)
		}
		return drawn
	}
	// 13 curves have maxColumns steps each, and a step has the length of "H400V1000".
	if got, most := size(20_000), maxColumns*13*len("H400V1000")+40*markerSlots+100*maxRows; got > most {
		t.Errorf("20,000 passes are drawn with %d bytes, more than %d", got, most)
	}
}

func TestStepsDrawEveryColumn(t *testing.T) {
	for _, c := range []struct {
		heights []float64
		area    bool
		want    string
	}{
		{[]float64{50, 100}, true, "M0 1000V500H1V0H2V1000Z"},
		{[]float64{50, 50, 0}, true, "M0 1000V500H2V1000H3V1000Z"},
		{[]float64{25, 75}, false, "M0 750H1V250H2"},
		{[]float64{0, 5000}, false, "M0 1000H1V-100H2"}, // the second step is just above the visible area
	} {
		if got := steps(c.heights, 100, c.area); got != c.want {
			t.Errorf("steps(%v, area %v) = %s, want %s", c.heights, c.area, got, c.want)
		}
	}
}

func TestCurvesStackUp(t *testing.T) {
	p := &replay.Pass{Sources: replay.Sources{System: 10, Guidance: 5, Head: 12, Memories: 3, Text: 20, Results: 40}}
	got := stack([]*replay.Pass{p}, contextSeries, columns{1, 1}, 100, fullest)
	want := map[string]string{ // the tops of the stacked series, from the bottom: 10, 15, 27, 30, 50, 50, 50, 90, 90
		"system": "M0 1000V900H1V1000Z", "guidance": "M0 1000V850H1V1000Z", "head": "M0 1000V730H1V1000Z", "memories": "M0 1000V700H1V1000Z",
		"text": "M0 1000V500H1V1000Z", "reasoning": "M0 1000V500H1V1000Z",
		"inputs": "M0 1000V500H1V1000Z", "results": "M0 1000V100H1V1000Z", "files": "M0 1000V100H1V1000Z",
	}
	if got.Curves[0].Name != "files" || got.Curves[8].Name != "system" {
		t.Errorf("the sum of all must be at the back, got %v", got.Curves)
	}
	for _, c := range got.Curves {
		if c.Path != want[c.Name] {
			t.Errorf("%s is %s, want %s", c.Name, c.Path, want[c.Name])
		}
	}
}

func TestColumnsKeepPeaksAndAverages(t *testing.T) {
	passes := []*replay.Pass{passOf(10, 10, 0), passOf(90, 90, 0), passOf(20, 20, 0), passOf(0, 0, 40)}
	c := columns{each: 2, width: 2}
	results := func(p *replay.Pass) int { return p.Sources.Results }
	written := func(p *replay.Pass) int { return p.Tokens.Write }
	if got := heights(passes, c, results, fullest); got[0] != 90 || got[1] != 0 {
		t.Errorf("the fullest passes have results %v, want 90 and 0", got)
	}
	if got := heights(passes, c, written, average); got[0] != 50 || got[1] != 10 {
		t.Errorf("averages are %v, want 50 and 10", got)
	}
}

func TestFarWindowIsNamedAndNotDrawn(t *testing.T) {
	for _, c := range []struct {
		full, window, threshold int
		class                   []string
		top                     float64
	}{
		{1000, 200_000, 130_000, []string{"beyond"}, 1250},
		{50_000, 64_000, 41_600, []string{"window", "threshold"}, 71_680},
		{80_000, 64_000, 41_600, []string{"window", "threshold"}, 89_600},
		{1000, 0, 0, nil, 1150},
	} {
		top, lines := scale([]*replay.Pass{{Sources: replay.Sources{Text: c.full}, WindowTokens: c.window, ThresholdTokens: c.threshold}})
		var class []string
		for _, l := range lines {
			class = append(class, l.Class)
		}
		if fmt.Sprint(class) != fmt.Sprint(c.class) || fmt.Sprintf("%.0f", top) != fmt.Sprintf("%.0f", c.top) {
			t.Errorf("%d tokens in a window of %d: lines %v up to %.0f, want %v up to %.0f", c.full, c.window, class, top, c.class, c.top)
		}
	}
}

func TestUnexplainedBustIsNotHiddenByItsNeighbours(t *testing.T) {
	passes := make([]*replay.Pass, 5000)
	for i := range passes {
		passes[i] = passOf(1, 1, 1)
		passes[i].Bust, passes[i].BustCause = true, "pressure"
	}
	passes[2500].BustCause = "unexplained"
	found := 0
	for _, m := range newPageView(summaryOf(passes...), Options{}).Sessions[0].Markers {
		if m.Class == "unexplained" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d markers are red, want 1", found)
	}
}

func BenchmarkPage(b *testing.B) {
	passes := make([]*replay.Pass, 5000)
	for i := range passes {
		passes[i] = passOf(i%977, 100+i%89, 1000+i%1013)
	}
	s := summaryOf(passes...)
	for b.Loop() {
		b.SetBytes(int64(len(page(b, s, "bench"))))
	}
}

func TestPageTellsPrices(t *testing.T) {
	bust := passOf(10, 20, 30)
	bust.Verdict, bust.Cause, bust.Bust, bust.BustCause = schema.Soft, "pressure", true, "pressure"
	bust.Price = schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41}
	got := page(t, summaryOf(passOf(1, 2, 3), bust), "a")
	const note = "re-sends 12.9k, removes 9.8k, pays off in 3 requests, about 41 to come"
	for _, want := range []string{`<dt>estimate</dt><dd>` + note + `</dd>`, `"cache rebuilt, getting full, ` + note + `"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestPageOpensWithTheSentence(t *testing.T) {
	s := summaryOf(passOf(10, 20, 30), passOf(10, 20, 30))
	got := page(t, s, "a")
	sentence := strings.Index(got, `<p class="sentence">`+report.Sentence(s)+`</p>`)
	if tiles := strings.Index(got, `class="tiles"`); sentence < 0 || sentence > tiles {
		t.Errorf("the sentence is at %d, and the tiles are at %d", sentence, tiles)
	}
}

// The unmodified session is drawn up to its largest prompt, even if the window is much smaller.
func TestUnmodifiedSessionIsDrawnInFull(t *testing.T) {
	var passes []*replay.Pass
	for i := range 20 {
		p := passOf(10, 20, 30)
		p.WindowTokens, p.Raw.Read = 1000, 250*(i+1)
		passes = append(passes, p)
	}
	v := newPageView(summaryOf(passes...), Options{}).Sessions[0]
	// The largest prompt has 5,000 tokens, and the plot ends 8 % above it: 1 - 5,000 / 5,400 = 0.074.
	if !strings.Contains(v.Unmodified, "V74H20") {
		t.Errorf("the curve %s does not end at 74", v.Unmodified)
	}
	// The fifth prompt, with 1,250 tokens, is the first above the window.
	if v.Refusal == nil || v.Refusal.Label != "unmodified: refused at request 5" || v.Refusal.At != 4.5/20 || fmt.Sprintf("%.3f", v.Refusal.Window) != "0.815" {
		t.Errorf("the refusal is marked as %+v", v.Refusal)
	}
}

// At the right end of the plot, each curve is at the total of its bill.
func TestCostsAddUp(t *testing.T) {
	var passes []*replay.Pass
	for range 20 {
		p := passOf(1, 2, 3)
		p.Bill, p.RawBill = 0.10, 0.50
		passes = append(passes, p)
	}
	v := newPageView(summaryOf(passes...), Options{}).Sessions[0]
	// In a plot that ends at $10.80, $10 is at the height 1 - 10/10.8 = 0.074, and $2 is at 0.815.
	if !strings.HasSuffix(v.PlainCosts, "V74H20") || !strings.Contains(v.Costs.Curves[0].Path, "V815H20") {
		t.Errorf("unmodified %s, magicctx %s", v.PlainCosts, v.Costs.Curves[0].Path)
	}
	var labels []string
	for _, m := range v.Costs.Grid {
		labels = append(labels, m.Label)
	}
	if got := strings.Join(labels, " "); got != "$0 $5 $10" {
		t.Errorf("the grid has %s", got)
	}
}

func TestMoneyGridHasRoundAmounts(t *testing.T) {
	for top, want := range map[float64]string{15.5: "$0 $5 $10 $15", 0.9: "$0.00 $0.50", 0.06: "$0.00 $0.02 $0.04", 3: "$0 $1 $2", 400: "$0 $100 $200 $300"} {
		var labels []string
		for _, m := range moneyGrid(top) {
			labels = append(labels, m.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("up to $%v the grid has %s, want %s", top, got, want)
		}
	}
}

// A click on a bust shows its cost, its gain, its outcome, and the pieces that it removed, the largest first.
func TestBustShowsItsDetails(t *testing.T) {
	bust := passOf(10, 20, 30)
	bust.Bust, bust.BustCause, bust.Verdict = true, "pressure", schema.Soft
	bust.Taken = []replay.Taken{
		{Tag: 3, Unit: "text", Label: "Look at the ledger", Edit: "drop", Rule: "queued drops", Tokens: 18},
		{Tag: 7, Unit: "tool", Tool: "read", Label: "src/a.go", Edit: "skeleton", Rule: "tool reclaim", Tokens: 2300},
		{Tag: 7, Unit: "tool", Tool: "read", Label: "src/a.go", Edit: "shell", Rule: "empty shells"},
	}
	s := summaryOf(passOf(1, 2, 3), bust)
	s.Busts[0].Outcome = replay.Outcome{Resent: 15_760, Removed: 28_663, Cost: 0.0544, Gain: 2.257, PaidOffAt: 54, NeededAt: 60}
	got := page(t, s, "a")
	at := 0
	for _, want := range []string{
		`<details data-bust="1">`, "request 2", "getting full", "2 pieces, 28.7k tokens went", `class="result paid">paid off at request 54`,
		"$0.054, for 15.8k tokens", "$2.26 by the end of the trace, for 28.7k tokens", "from request 54 on", "the prompt of request 60 would have exceeded the window",
		"§7§", "<bdi>read</bdi></b> <bdi>src/a.go</bdi>", "2.3k", "old tool output", "result dropped",
		"§3§", "<bdi>text</bdi></b> <bdi>Look at the ledger</bdi>", "marked by the model", "empty message out", "</details>",
	} {
		n := strings.Index(got[at:], want)
		if n < 0 {
			t.Fatalf("the page lacks %q after %.300s", want, got[max(0, at-200):])
		}
		at += n + len(want)
	}
	s.Busts[0].Outcome = replay.Outcome{Cost: 0.02, Gain: 0.01}
	if got := page(t, s, "a"); !strings.Contains(got, `class="result">did not pay off`) || !strings.Contains(got, "it saved less than it cost") {
		t.Error("a bust that did not pay off looks as if it had")
	}
}

func TestUnitsOfABustAreBounded(t *testing.T) {
	bust := passOf(10, 20, 30)
	bust.Bust, bust.BustCause = true, "pressure"
	for i := range maxUnits + 1 {
		bust.Taken = append(bust.Taken, replay.Taken{Tag: i + 1, Unit: "text", Label: strings.Repeat("x", 10_000), Tokens: i})
	}
	got := page(t, summaryOf(bust), "a")
	if n := strings.Count(got, `<td class="unit">`); n != maxUnits || !strings.Contains(got, "and 1 smaller piece, see") {
		t.Errorf("%d units are shown, want %d", n, maxUnits)
	}
	if n := strings.Count(got, "x"); n > 2*maxUnits*maxName {
		t.Errorf("the labels have %d characters", n)
	}
}

func TestOverflowsAreFindings(t *testing.T) {
	s := summaryOf(passOf(1, 2, 3), passOf(1, 2, 3), passOf(1, 2, 3))
	s.Overflows = []replay.Overflow{{Pass: 2, Prompt: 70_506, Window: 64_000}, {Pass: 3, Prompt: 64_069, Window: 64_000}}
	got := page(t, s, "a")
	for _, want := range []string{`<dt>findings</dt><dd class="value">2</dd><dd class="note">2 overflows</dd>`, `data-pass="2"`, "the prompts up to request 3 exceed the window", "up to 70,506 of 64,000 tokens"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageTellsTheHistory(t *testing.T) {
	const hostile = "<img src=x>"
	first, second, last := passOf(10, 20, 30), passOf(10, 20, 30), passOf(10, 20, 30)
	second.Fold = "first-head"
	second.Head = &schema.HeadStatus{Epoch: 1, Through: 80, Covered: 60_000, Baseline: 9000, Sections: schema.HeadSections{Compartments: 6000, Docs: 1200}}
	second.Published = []schema.HistoryPublish{{Start: 1, End: 80, Compartments: 3, Fidelity: 0.9, MadeBy: "extractive"}}
	second.Bust, second.BustCause, second.Verdict = true, "idle", schema.Hard
	last.Head = second.Head
	last.History = &schema.HistoryStatus{Compartments: 3, Extractive: 3, RawTokens: 60_000, Fidelity: 0.9, Failures: 2, LastError: hostile}
	got := page(t, summaryOf(first, second, last), "a")
	for _, want := range []string{
		"<dt>summaries written anew</dt>", "1 run of the historian, 1 without a model", "the summaries in the prompt were written anew for the first time: 9k written (summaries 6k, project documents 1.2k), nothing added since",
		"messages 1-80 (summarised), 0 tokens went",
		"summarised: messages 1-80 as 3 summaries by extraction, fidelity 90%", "messages 1-80 stand in the prompt as 9k tokens",
		`"parts":9,`, // the script adds up all nine parts of a prompt
		"the historian has failed 2 times in a row: &lt;img src=x&gt;", `<button data-at="1">2</button>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if bare := page(t, summaryOf(passOf(10, 20, 30)), "a"); strings.Contains(bare, "Summarised history") || strings.Contains(bare, "<dt>folds</dt>") {
		t.Error("a session without history has a section about it")
	}
}

func TestPageTellsWhatRemovingEarlySaved(t *testing.T) {
	s := replay.Summary{Detail: []*replay.Pass{{Pass: 1, Session: "ses_1"}}, Saved: map[string]schema.Saving{"ses_1": {Money: 4.2, Early: 3.1, Historian: 0.5}}}
	if got, want := page(t, s, "a"), "(of it $0.50 for the historian), saved about $4.20; removing early saved about $3.10"; !strings.Contains(got, want) {
		t.Errorf("the page does not say %q", want)
	}
}
