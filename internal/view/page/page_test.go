package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
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

// summaryOf returns the summary of passes that have only tokens.
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

func TestPageEscapesWhatTheTraceSays(t *testing.T) {
	const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"' style=x {{.}}`
	p := passOf(10, 20, 30)
	p.Session, p.Model, p.Verdict, p.Bust, p.BustCause, p.Cause = hostile, hostile, hostile, true, hostile, hostile
	s := summaryOf(p, passOf(1, 2, 3))
	s.ValidatorHits = []replay.Finding{{Pass: 1, Rule: hostile, Detail: hostile}}
	s.InvariantViolations = []replay.Finding{{Pass: 2, Rule: hostile}}
	got := page(t, s, hostile)
	for _, raw := range []string{"<script>alert", "<img", "<!--"} {
		if strings.Contains(got, raw) {
			t.Errorf("the page has %q", raw)
		}
	}
	// One script of the page, and the data of two sessions.
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

func TestDrawingIsBoundedWhateverThePasses(t *testing.T) {
	size := func(n int) int {
		passes := make([]*replay.Pass, n)
		for i := range passes {
			passes[i] = passOf(i%977, 100+i%89, 1000+i%1013)
			passes[i].Bust, passes[i].BustCause = i%3 == 0, "pressure"
		}
		v := newPageView(summaryOf(passes...), Options{}).Sessions[0]
		drawn := len(v.Unmodified) + 40*len(v.Markers) + 100*len(v.BustRows)
		for _, c := range append(v.Context.Curves, v.Cache.Curves...) {
			drawn += len(c.Path)
		}
		return drawn
	}
	// 10 curves have maxColumns steps each, and a step has the length of "H400V1000".
	if got, most := size(20_000), maxColumns*10*len("H400V1000")+40*markerSlots+100*maxRows; got > most {
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
		{[]float64{0, 5000}, false, "M0 1000H1V-100H2"}, // the second step is just out of sight
	} {
		if got := steps(c.heights, 100, c.area); got != c.want {
			t.Errorf("steps(%v, area %v) = %s, want %s", c.heights, c.area, got, c.want)
		}
	}
}

func TestCurvesStackUp(t *testing.T) {
	p := &replay.Pass{Sources: replay.Sources{System: 10, Text: 20, Results: 40}}
	got := stack([]*replay.Pass{p}, contextSeries, columns{1, 1}, 100, fullest)
	want := map[string]string{ // the tops of the stacked series, from the bottom: 10, 30, 30, 30, 70, 70
		"system": "M0 1000V900H1V1000Z", "text": "M0 1000V700H1V1000Z", "reasoning": "M0 1000V700H1V1000Z",
		"inputs": "M0 1000V700H1V1000Z", "results": "M0 1000V300H1V1000Z", "files": "M0 1000V300H1V1000Z",
	}
	if got.Curves[0].Name != "files" || got.Curves[5].Name != "system" {
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
	const note = "re-sends 12.9k, removes 9.8k, pays off in 3 passes of 41"
	for _, want := range []string{`<td class="wide">` + note + `</td>`, `"soft, bust: pressure, ` + note + `"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
