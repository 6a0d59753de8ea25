package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
)

func printed(t *testing.T, s replay.Summary) string {
	t.Helper()
	var out bytes.Buffer
	if err := Print(&out, s, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
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

func priced(v schema.Verdict, cause string, b schema.BustPrice) *replay.Pass {
	p := passOf(10, 20, 30)
	p.Verdict, p.Cause, p.Price = v, cause, b
	if v != schema.Steady {
		p.Bust, p.BustCause = true, cause
	}
	return p
}

func TestColumnsOfTheTimelineAreAligned(t *testing.T) {
	for _, before := range []int{3, 30, 120, 1200} {
		var passes []*replay.Pass
		for range before {
			passes = append(passes, passOf(10, 20, 30))
		}
		passes = append(passes, priced(schema.Soft, "pressure", schema.BustPrice{}))
		for range before {
			passes = append(passes, passOf(10, 20, 30))
		}
		_, table, _ := strings.Cut(printed(t, summaryOf(passes...)), "request cache   ")
		table, _, _ = strings.Cut(table, "\n\n")
		_, rows, _ := strings.Cut(table, "\n")
		width := strings.Index(rows, "\n")
		if width > 80 {
			t.Errorf("%d passes: rows of %d columns", before, width)
		}
		for row := range strings.SplitSeq(rows, "\n") {
			if len(row) != width && !strings.HasPrefix(row, noteIndent) {
				t.Errorf("%d passes: %d columns, want %d: %q\n%s", before, len(row), width, row, table)
			}
		}
	}
}

func TestPriceNote(t *testing.T) {
	for _, c := range []struct {
		name string
		pass *replay.Pass
		want string
	}{
		{"a bust", priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41}), "re-sends 12.9k, removes 9.8k, pays off in 3 requests, about 41 to come"},
		{"a bust that has paid already", priced(schema.Soft, "flush", schema.BustPrice{Resent: 10, Removed: 9800, BreakEven: -0.9, Forecast: 41}), "re-sends 10, removes 9.8k, pays off at once"},
		{"one that never pays", priced(schema.Soft, "flush", schema.BustPrice{Resent: 12_900}), "re-sends 12.9k, removes 0, never pays off"},
		{"a bust that waits", priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 900, Removed: 100, BreakEven: 80, Forecast: 1}), "waits: re-sends 900, removes 100, pays off in 80 requests, about 1 to come"},
		{"a prefix that was gone", priced(schema.Hard, "idle", schema.BustPrice{Resent: 900, Removed: 100, BreakEven: 80}), ""},
		{"a steady pass", passOf(1, 2, 3), ""},
		{"the widest", priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 99_900, Removed: 99_800, BreakEven: 88_888, Forecast: 5000}), "waits: re-sends 99.9k, removes 99.8k, pays off in 999+ requests, about 5000 to come"},
	} {
		if c.name == "a steady pass" {
			c.pass.Verdict = schema.Steady
		}
		if got := PriceNote(c.pass); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// In the timeline, each bust has a line with its cost and gain. Several passes in a row may wait because a bust does
// not pay off. Only the first of them gets a line with the cost and gain of the bust.
func TestTimelineTellsPrices(t *testing.T) {
	waits := func() *replay.Pass {
		return priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 99_900, Removed: 99_800, BreakEven: 88_888, Forecast: 5000})
	}
	s := summaryOf(passOf(1, 2, 3), waits(), waits(), waits(),
		priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41}))
	out := printed(t, s)
	if n := strings.Count(out, "\n      waits: "); n != 1 {
		t.Errorf("%d passes wait:\n%s", n, out)
	}
	if !strings.Contains(out, "\n      re-sends 12.9k, removes 9.8k, pays off in 3 requests, about 41 to come\n") {
		t.Errorf("the bust has no price:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestMarksAreATable(t *testing.T) {
	out := printed(t, replay.Summary{Marks: []replay.MarksBill{
		{Marks: replay.Marks{Spending: "balanced", High: 65, Low: 50, Chosen: true}, Busts: 2, Tokens: replay.Tokens{Read: 41_600, Written: 1000, Fresh: 700}, Bill: 1.5, Reread: 1200},
		{Marks: replay.Marks{Spending: "frugal", High: 70}, Busts: 1, Bill: 0.25, MissedRuns: 2},
	}})
	for _, want := range []string{
		"spending  high   low  busts      read   written      bill read again\n",
		"balanced   65%   50%      2     41.6k      1.7k     $1.50       1.2k  chosen\n",
		"frugal     70%  auto      1         0         0     $0.25          0  2 answers missing\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

func TestFindingsAreNamed(t *testing.T) {
	bust := passOf(1, 2, 3)
	bust.Bust, bust.BustCause = true, "unexplained"
	found := summaryOf(bust)
	found.InvariantViolations = []replay.Finding{{Pass: 4, Rule: "one placeholder"}}
	found.ValidatorHits = []replay.Finding{{Pass: 4, Rule: "pair", Detail: "a7"}}
	out := printed(t, found)
	for _, want := range []string{"1 unexplained bust, 1 broken invariant, 1 validator hit, 0 overflows\n", "request 4 breaks: one placeholder", "the provider would refuse message a7 (pair)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

// A trace may come from anybody, and a person reads its report on a terminal. So no control character of the trace may
// reach the terminal.
func TestTextOfTheTraceReachesNoTerminalUnchecked(t *testing.T) {
	const hostile = "x\x1b[2J\x1b]0;title\a\u202e\r"
	p := passOf(1, 2, 3)
	p.Verdict, p.Cause, p.Bust, p.BustCause = hostile, hostile+"1", true, hostile+"2"
	s := summaryOf(p)
	s.InvariantViolations = []replay.Finding{{Pass: 1, Rule: hostile}}
	s.ValidatorHits = []replay.Finding{{Pass: 1, Rule: hostile, Detail: hostile}}
	out := printed(t, s)
	if clean := format.CleanLines(out); clean != out {
		t.Errorf("printed %q", out)
	}
}

func TestSentence(t *testing.T) {
	fits := replay.Summary{
		Passes: 312, Bill: 4.149, RawBill: 14.32,
		Prompts: replay.Prompts{Window: 64_000, Largest: 48_000, RawLargest: 286_492, RawRefusedAt: 70},
	}
	roomy := replay.Summary{Passes: 1, Bill: 0.052, RawBill: 0.0503, Prompts: replay.Prompts{Window: 200_000, Largest: 10_080, RawLargest: 9737}}
	over, unknown, lenient := fits, roomy, fits
	lenient.Prompts.Largest = 66_000
	over.Overflows = []replay.Overflow{{Pass: 256, Prompt: 70_506, Window: 64_000}}
	unknown.Prompts.Window, unknown.RawBill = 0, 0.052
	priced, summarised := fits, fits
	priced.Saved = map[string]schema.Saving{"a": {Money: 5, Passes: 300}, "b": {Money: -1, Passes: 10}}
	summarised.Saved = map[string]schema.Saving{"a": {Money: 4.25, Historian: 0.1, Passes: 300}}
	for _, c := range []struct {
		s    replay.Summary
		want string
	}{
		{fits, "312 requests stayed under 64k tokens; unmodified, the session would have needed 286k and been refused at request 70; the bill was $4.15 instead of $14.32."},
		{over, "1 of 312 requests exceeded the window of 64k tokens; unmodified, the session would have needed 286k and been refused at request 70; the bill was $4.15 instead of $14.32."},
		{lenient, "312 requests were accepted, with up to 66k tokens in a window of 64k; unmodified, the session would have needed 286k and been refused at request 70; the bill was $4.15 instead of $14.32."},
		{priced, "312 requests stayed under 64k tokens; unmodified, the session would have needed 286k and been refused at request 70; the bill was $4.15, which saved about $4.00 against dropping nothing until the window is full."},
		{summarised, "312 requests stayed under 64k tokens; unmodified, the session would have needed 286k and been refused at request 70; the bill was $4.25 (of it $0.10 for the historian), which saved about $4.25 against dropping nothing until the window is full."},
		{roomy, "1 request needed at most 10.1k of 200k tokens; unmodified, the session would have needed 9.7k; the bill was $0.052 instead of $0.050."},
		{unknown, "1 request needed at most 10.1k tokens; unmodified, the session would have needed 9.7k; the bill was $0.052 either way."},
		{replay.Summary{}, "The trace holds no request to a model."},
	} {
		if got := Sentence(c.s); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	opening := strings.ReplaceAll(printed(t, fits), "\n", " ")
	if want := Sentence(fits) + "  "; !strings.HasPrefix(opening, want) {
		t.Errorf("the report opens with %.200q, want %q", opening, want)
	}
}

// The bug: the table's bill lacked the historian's runs, but the sentence above it included them.
func TestBillsOfTheTableAndTheSentenceAgree(t *testing.T) {
	s := summaryOf(passOf(10, 20, 30))
	s.Bill, s.RawBill, s.Prompts.Unseen = 1, 3, 6300
	s.Saved = map[string]schema.Saving{"ses_one": {Money: 2, Historian: 0.5, Passes: 300}}
	got := printed(t, s)
	for _, want := range []string{"the bill was $1.50 (of it $0.50 for the historian)", "bill                  $1.50        $3.00\n- historian           $0.50", "not counted: the model's answers and the definitions of tools (about 6.3k\n  tokens of each prompt)\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
}

func TestOutcomeNote(t *testing.T) {
	for want, o := range map[string]replay.Outcome{
		"":                                    {Cost: 0.0002, Gain: 0.0009, PaidOffAt: 5},
		"cost $0.054, paid off at request 54": {Cost: 0.054, Gain: 2.257, PaidOffAt: 54},
		"cost $0, paid off at request 3":      {Gain: 0.1, PaidOffAt: 3},
		"cost $0.019, did not pay off: later requests saved $0.0065": {Cost: 0.0194, Gain: 0.0065},
	} {
		if got := OutcomeNote(o); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

// Each pass whose prompt exceeds the window has a red line in the timeline and in the findings.
func TestPromptsAboveTheWindowAreRed(t *testing.T) {
	var passes []*replay.Pass
	for range 9 {
		passes = append(passes, passOf(1, 2, 3))
	}
	s := summaryOf(passes...)
	s.Overflows = []replay.Overflow{{Pass: 4, Prompt: 64_001, Window: 64_000}, {Pass: 5, Prompt: 70_500, Window: 64_000}, {Pass: 9, Prompt: 64_010, Window: 64_000}}
	var out bytes.Buffer
	if err := Print(&out, s, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	const red, off = "\x1b[31m", "\x1b[0m"
	for _, want := range []string{
		red + "3 of 9 requests exceeded the window;",
		red + "    4-5 kept    2 requests ",
		red + "      exceeds the window: 70,500 of 64,000 tokens" + off,
		red + "      9 kept   ",
		red + "      exceeds the window: 64,010 of 64,000 tokens" + off,
		red + "0 unexplained busts, 0 broken invariants, 0 validator hits, 3 overflows" + off,
		red + "  requests 4-5: the prompts exceed the window, up to 70,500 of 64,000 tokens" + off,
		red + "  request 9: the prompt exceeds the window, 64,010 of 64,000 tokens" + off,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// The report must say how reliable its figures are before it shows them.
func TestC12ReportBeginsWithTheMissingParts(t *testing.T) {
	s := summaryOf(passOf(1, 2, 3))
	if out := printed(t, s); strings.Contains(out, "incomplete") {
		t.Errorf("a complete trace is called incomplete:\n%s", out)
	}
	s.Missing = []string{"the configuration", "the limits of \x1b[2Jmodel", strings.Repeat("the answers ", 10)}
	out := printed(t, s)
	if !strings.HasPrefix(out, "The trace is incomplete, so the replay may differ from the session. It lacks:\n- the configuration\n") {
		t.Errorf("the report begins with %.200q", out)
	}
	if want := "\n- the answers" + strings.Repeat(" the answers", 5) + " the\n  answers"; !strings.Contains(out, want) {
		t.Errorf("a long line is not broken into %q:\n%s", want, out)
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("text of the trace reaches the terminal: %q", out)
	}
}

// The timeline joins uneventful passes into one line, but a pass with a fold or a publication keeps its own line. The
// report must also show the state of the history at the end.
func TestReportTellsTheHistory(t *testing.T) {
	var passes []*replay.Pass
	for range 9 {
		passes = append(passes, passOf(1, 2, 3))
	}
	passes[3].Published = []schema.HistoryPublish{{Start: 1, End: 80, Compartments: 3, Fidelity: 0.9, MadeBy: "repaired", Model: "anthropic/small"}}
	passes[6].Fold = "idle"
	for _, p := range passes[6:] {
		p.Head = &schema.HeadStatus{Epoch: 2, Through: 80, Covered: 60_000, Baseline: 9000, Delta: 300, Sections: schema.HeadSections{Compartments: 6000, Memories: 900}}
	}
	passes[8].Sources.Head, passes[8].Sources.Guidance = 9300, 700
	passes[8].History = &schema.HistoryStatus{Compartments: 3, RawTokens: 60_000, Fidelity: 0.9, Waited: 7, IsOverdue: true}
	out := printed(t, summaryOf(passes...))
	for _, want := range []string{
		"\n      4 kept", "\n      summarised: messages 1-80 as 3 summaries by small at its second try,\n      fidelity 90%\n",
		"\n      7 kept", "\n      the summaries in the prompt were written anew after a pause longer than\n      the cache lives: 9k written (summaries 6k, memories 900), 300 added since\n",
		"\nhistory of ses_one: 3 summaries for 60k tokens of messages, fidelity 90%; it has\nwaited for 7 requests to be summarised;",
		"\nthe summaries in the prompt were written anew 1 time: after a pause 1\n1 run of the historian\n", "guidance 700, summarised history 9.3k,",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestSeveralRunsOfTheHistorian(t *testing.T) {
	s := summaryOf(passOf(1, 2, 3))
	s.Publishes = make([]replay.Publish, 2)
	for _, reason := range []string{"first-head", "delta-over-baseline", "delta-over-budget"} {
		s.Folds = append(s.Folds, replay.Fold{Reason: reason})
	}
	out := printed(t, s)
	if !strings.Contains(out, "\n2 runs of the historian\n") {
		t.Errorf("the report lacks the two runs:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// The bug: a replay said "force" where the status said "85% full". It also called a request without new edits
// uneventful, although this request was a bust: the harness had changed messages that were already sent.
func TestTimelineHasTheWordsOfTheStatus(t *testing.T) {
	steady := func(cause, bust string) *replay.Pass {
		return &replay.Pass{Verdict: schema.Steady, Cause: cause, Bust: bust != "", BustCause: bust}
	}
	for _, test := range []struct {
		pass         *replay.Pass
		cache, cause string
	}{
		{&replay.Pass{Verdict: schema.Soft, Cause: "force", Bust: true, BustCause: "force"}, "rebuilt", "85% full"},
		{steady("", "transcript-changed"), "rebuilt", "harness's change"},
		{steady("mid-turn", ""), "kept", "inside a turn"},
	} {
		if cache, cause := CacheOf(test.pass), CauseOf(test.pass); cache != test.cache || cause != test.cause {
			t.Errorf("%q, %q, want %q, %q", cache, cause, test.cache, test.cause)
		}
	}
}

// A trace contains all sessions of its harness process. So the report shows each session separately, because figures
// over several sessions would be true of none of them.
func TestEachSessionIsToldByItself(t *testing.T) {
	in := func(session string, p *replay.Pass) *replay.Pass {
		p.Session = session
		return p
	}
	s := summaryOf(
		in("ses_one", passOf(10, 20_000, 0)), in("ses_two", passOf(10, 3_000, 0)),
		in("ses_one", passOf(10, 1_000, 20_000)), in("ses_two", priced(schema.Soft, "pressure", schema.BustPrice{})), in("ses_one", passOf(10, 1_000, 21_000)),
	)
	out := printed(t, s)
	first, rest, _ := strings.Cut(out, "Session ses_two")
	second, together, isCut := strings.Cut(rest, "All 2 sessions")
	if !strings.Contains(first, "Session ses_one") || !isCut {
		t.Fatalf("the report does not name each session:\n%s", out)
	}
	for _, want := range []struct{ part, text string }{
		{first, "3 requests needed at most 22k"},
		{first, "3 requests over"},
		{second, "2 requests needed at most 3k"},
		{second, "4 rebuilt getting full"},
		{second, "1 bust"},
		{together, "5 requests over"},
		{together, "0 unexplained busts"},
	} {
		if !strings.Contains(want.part, want.text) {
			t.Errorf("no %q in\n%s", want.text, want.part)
		}
	}
	if strings.Contains(first, "threshold") {
		t.Errorf("the first session is told with a bust of the second:\n%s", first)
	}
	if one := printed(t, summaryOf(passOf(10, 20, 30))); strings.Contains(one, "Session ") || strings.Contains(one, "All ") {
		t.Errorf("one session needs no heading:\n%s", one)
	}
}
