package words

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/schema"
)

func full() schema.SessionStatus {
	cost := 0.04
	return schema.SessionStatus{
		InputTokens: 90_000, ContextTokens: 200_000, Pressure: 0.45, Threshold: 0.65, CacheRead: 93, CacheWrite: 7, CacheHitRate: 0.93, Queued: 5,
		Tokens:   schema.TokensBySource{System: 5000, ToolDefinitions: 4000, Head: 9700, Text: 20_000, Files: 1000, ToolInputs: 9000, ToolResults: 40_300, Thinking: 1000, Dropped: 70_000},
		Head:     &schema.HeadStatus{Through: 42, Baseline: 9000, Delta: 700, Sections: schema.HeadSections{Docs: 1200, Compartments: 6000, Memories: 1800}},
		NextBust: &schema.NextBust{At: 130_000},
		LastBust: &schema.LastBust{At: noon.Add(-time.Hour).UnixMilli(), Cause: "pressure", Words: "getting full", Removed: 43_000, Cost: &cost},
		History:  &schema.HistoryStatus{Compartments: 4, RawTokens: 61_000, Fidelity: 0.9, Running: &schema.HistoryRun{Kind: "incremental", Since: noon.Add(-90 * time.Second).UnixMilli()}},
		Dream:    &schema.DreamStatus{Task: "verify", Number: 2, Of: 5, Since: noon.Add(-3 * time.Minute).UnixMilli(), Tokens: 900},
		Memories: 12, Notes: 3, Dropped: 7,
		Saved: &schema.Saving{Money: 1.5, Historian: 0.25, Spent: 3.2, Passes: 39},
	}
}

func TestPanel(t *testing.T) {
	p := Panel(full(), []string{"the key  x is wrong"}, noon)
	if want := "magicctx 45% of 200k · 1 problem · 7 taken out · spent $3.20 … /ctx-status"; p.Line != want {
		t.Errorf("got %q, want %q", p.Line, want)
	}
	var got []string
	for _, f := range p.Facts {
		got = append(got, f.Label+": "+f.Text+" "+f.Tone)
	}
	want := []string{
		"problem: the key  x is wrong notice",
		"cache hits: 93% of all prompts ",
		"last bust: 11:00, getting full; freed 43k, cost $0.04 ",
		"next bust: at 130k tokens; 5 pieces marked by the model ",
		"historian: at work since 11:58 work",
		"dreamer: task 2 of 5 (verify) since 11:57 work",
		"summaries: 4 for 61k tokens ",
		"taken out: 7 pieces; /ctx-menu ",
		"memories: 12, 3 notes ",
		"saved: about $1.50 ",
		"spent: about $3.20 on prompts, $0.25 of it on summaries, without answers ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	sum, names := int64(0), ""
	for _, part := range p.Parts {
		sum += part.Tokens
		names += part.Source + " " + part.Size + ", "
	}
	if want := "system 5k, definitions 4k, documents 1.2k, summaries 6.7k, memories 1.8k, conversation 21k, tools 49.3k, thinking 1k, "; sum != 90_000 || names != want {
		t.Errorf("%d tokens in %q, want %q", sum, names, want)
	}
}

// A harness shows the first of these lines that fits into its width. If there is enough room, the line contains what
// the session has cost.
func TestLines(t *testing.T) {
	fit := func(lines []string, columns int) string {
		i := slices.IndexFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) <= columns })
		return append(lines, "")[i]
	}
	st, problems := full(), []string{"the disk is slow"}
	onlySummarised := full()
	onlySummarised.Dropped = 0
	onlySpent := schema.SessionStatus{Pressure: 0.51, ContextTokens: 30_000, CacheHitRate: 0.55, Saved: &schema.Saving{Spent: 0.004}}
	for _, test := range []struct {
		st       schema.SessionStatus
		problems []string
		columns  int
		want     string
	}{
		{st, nil, 71, "45% of 200k · 7 taken out · spent $3.20 · 1-42 summarised … /ctx-status"},
		{st, nil, 70, "45% of 200k · 7 taken out · spent $3.20 … /ctx-status"},
		{st, nil, 36, "45% · 7 out · $3.20 … /ctx-status"},
		{st, nil, 32, "45% · 7 out · $3.20 …"},
		{st, nil, 20, "45% · 7 out …"},
		{st, nil, 5, "45% …"},
		{st, problems, 36, "45% · 1 problem … /ctx-status"},
		{st, problems, 28, "45% · 1 problem · 7 out …"},
		{onlySummarised, nil, 36, "45% · 1-42 summarised · $3.20 …"},
		{onlySpent, nil, 36, "51% · <$0.01 … /ctx-status"},
		{schema.SessionStatus{}, nil, 36, "0% · /ctx-status"},
		{schema.SessionStatus{}, nil, 10, "0% …"},
	} {
		if got := fit(Panel(test.st, test.problems, noon).Lines, test.columns); got != test.want {
			t.Errorf("%d columns: got %q, want %q", test.columns, got, test.want)
		}
	}
}

// A session without a measured request has no figures in its panel.
func TestPanelOfANewSession(t *testing.T) {
	p := Panel(schema.SessionStatus{}, nil, noon)
	if p.Line != "magicctx 0% · /ctx-status" || p.Size != "no request measured yet" || len(p.Parts) != 0 {
		t.Errorf("%+v", p)
	}
	if got := Panel(schema.SessionStatus{InputTokens: 9400}, nil, noon).Line; got != "magicctx 9.4k tokens · /ctx-status" {
		t.Errorf("with an unknown window: %q", got)
	}
	if len(p.Facts) != 1 || p.Facts[0].Text != "none yet" { // the last bust
		t.Errorf("%+v", p.Facts)
	}
}

// The panel stays on the screen for hours, so it shows "14:32", and not "3m ago".
func TestPanelNamesTimesAndNoAges(t *testing.T) {
	st := full()
	st.History.Failures, st.History.FailedAt, st.History.LastError = 3, noon.Add(-25*time.Hour).UnixMilli(), "no answer"
	st.LastBust.At, st.Dream.Task = st.History.FailedAt, ""
	p := Panel(st, nil, noon)
	if got, want := p.Facts[0].Text, "the historian has failed 3 times in a row, last at 28 Feb: no answer. A model is asked again with the next request that needs it; a full window gets extracts without a model"; got != want || p.Facts[0].Tone != "alarm" || !strings.Contains(p.Line, "1 problem ") {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, f := range p.Facts {
		if strings.Contains(f.Text, " ago") {
			t.Errorf("%q will be false", f.Text)
		}
		if f.Label == "last bust" && !strings.HasPrefix(f.Text, "28 Feb, ") {
			t.Errorf("the last bust: %q", f.Text)
		}
	}
}

// Foreign text executes nothing and breaks no line.
func TestPanelIsSafeToShow(t *testing.T) {
	const hostile = "\x1b[31mred\x1b]0;title\x07\n\r\tline\u202e\x00"
	st := full()
	st.Title, st.Model.ID = hostile, hostile
	st.LastBust.Words, st.LastBust.Cause = hostile+strings.Repeat("long ", 30), hostile
	st.History.Failures, st.History.LastError, st.History.FailedAt = 1, hostile, noon.UnixMilli()
	st.History.Stopped = &schema.StoppedRun{Kind: hostile, Reason: hostile}
	p := Panel(st, []string{hostile}, noon)
	texts := append([]string{p.Line, p.Size}, p.Lines...)
	for _, f := range p.Facts {
		texts = append(texts, f.Label, f.Text)
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is not safe", text)
		}
	}
	if n := utf8.RuneCountInString(p.Line); n > 80 {
		t.Errorf("the line has %d characters", n)
	}
}

func TestPanelSaysWhatWasSaved(t *testing.T) {
	for money, want := range map[float64]string{0: "nothing yet", -0.5: "nothing yet: $0.50 more so far", 1.5: "about $1.50"} {
		if got := moneyOf(&schema.Saving{Money: money}); got != want {
			t.Errorf("%v: got %q, want %q", money, got, want)
		}
	}
	if got := moneyOf(nil) + Spent(nil); got != "" {
		t.Errorf("without a price: %q", got)
	}
}

func TestPanelSaysWhenTheNextBustIsDue(t *testing.T) {
	for _, test := range []struct {
		change func(*schema.SessionStatus)
		want   string
	}{
		{func(st *schema.SessionStatus) {}, "at 130k tokens"},
		{func(st *schema.SessionStatus) { st.NextBust.IsAsked = true }, "with the next message: you asked for it"},
		{func(st *schema.SessionStatus) { st.NextBust.Waits = true }, "as soon as it pays"},
		{func(st *schema.SessionStatus) { st.Pressure = 0.7 }, "due"},
		{func(st *schema.SessionStatus) { st.Pressure, st.LastPrice = 0.7, &schema.PricedPass{} }, "as soon as it pays"},
		{func(st *schema.SessionStatus) { st.NextBust = nil }, ""},
	} {
		st := full()
		st.Queued = 0
		test.change(&st)
		if got := dueOf(st); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
