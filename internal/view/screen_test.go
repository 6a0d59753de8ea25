package view

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

var update = flag.Bool("update", false, "write the golden screens anew; look at them then")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) int64 { return noon.Add(-d).UnixMilli() }

func statusOf(sessions int) *schema.StatusResult {
	st := &schema.StatusResult{
		Version: "1.4.0", PID: 4711, StartedAt: before(3*time.Hour + 12*time.Minute), Enabled: true,
		MemoryBytes: 84 << 20, StoreBytes: 13 << 20, KnownSessions: sessions, Sessions: []schema.SessionStatus{},
		Clients: []schema.ClientStatus{{Client: "opencode-shim", Harness: schema.HarnessOpenCode}, {Client: "magicctx-host status"}},
	}
	models := []string{"claude-opus-4-5", "gpt-5.2-codex", "openrouter/moonshotai/kimi-k2-thinking"}
	titles := []string{"Fix the flaky parser test", "Landing page: new hero section and a rather long title", "", "Why does the build cache miss?"}
	causes := []string{"", "pressure", "", "model-changed"}
	for n := range sessions {
		prompt := 61_000 + (71_000*n)%130_000
		cost := 0.0575
		s := schema.SessionStatus{
			Harness: schema.HarnessOpenCode, Session: fmt.Sprintf("ses_5a1f%06x", 7919*n), Directory: "/home/u/work/" + []string{"magicctx", "website", "a-rather-long-project-name"}[n%3],
			Title: titles[n%4], Mode: "primary", Model: schema.Model{Provider: "anthropic", ID: models[n%3]}, Epoch: 1 + n%4, Passes: 212 - 3*n,
			Busts: n % 4, LastVerdict: schema.Steady, LastPassAt: before(time.Duration(12+n*n*90) * time.Second), LastPassMS: 1.9, Messages: 640 - 9*n,
			InputTokens: prompt, ContextTokens: 200_000, LimitSource: schema.LimitCatalogue, LimitAt: before(time.Hour), Threshold: 0.65, Units: 913, Dropped: 402, Queued: n % 3,
			CacheLifeMS: 300_000, CacheRoute: "anthropic", CacheLifeSource: schema.CacheLifeRoute, CacheLifeReason: "Anthropic's default",
			CacheRead: 4_120_000, CacheWrite: 310_000, CacheFresh: 12_000, CacheHitRate: 0.927,
			Tokens:   schema.TokensBySource{System: 3_800, ToolDefinitions: 8_100, Text: 14_200, ToolInputs: 5_100, ToolResults: int64(prompt) - 31_200, Dropped: 212_400},
			NextBust: &schema.NextBust{At: 130_000, Down: 62_000, Freed: 68_000, Resent: 50_000, Cost: &cost},
			Saved:    &schema.Saving{Money: 3.21 - 0.4*float64(n%9), Passes: 211},
		}
		s.Pressure = float64(s.InputTokens) / float64(s.ContextTokens)
		if cause := causes[n%4]; cause != "" {
			s.LastVerdict, s.LastCause, s.LastPassBust = schema.Soft, cause, true
			s.BustCauses = []schema.CauseCount{{Cause: cause, Count: s.Busts}}
		}
		if n%5 == 4 {
			s.Parent, s.Mode, s.Saved, s.NextBust.Cost = "ses_5a1f000000", "subagent", nil, nil
		}
		st.Sessions = append(st.Sessions, s)
	}
	if sessions > 0 {
		st.Sessions[0].Removals = []schema.Removal{{Rule: "tool reclaim", Cause: "pressure", Tokens: 180_000, Rereads: 2, Reread: 2400}, {Rule: "summaries", Cause: "pressure", Tokens: 64_000}}
		st.Sessions[0].RereadCost = 0.009
		st.Sessions[0].Spending, st.Sessions[0].Saved.Early = schema.SpendingBalanced, 1.25
		st.Sessions[0].Carried = &schema.Carried{Tokens: 12_400, Paid: 61_000, Price: 280_000, Cost: 0.0183}
		st.Saved = &schema.Saving{Money: 41.5, Passes: 5030}
		cost := 0.0265
		s := &st.Sessions[0]
		s.Busts, s.BustCauses, s.Queued = 3, []schema.CauseCount{{Cause: "pressure", Count: 2}, {Cause: "model-changed", Count: 1}}, 4
		s.SizeTokens = 61_400
		s.LastBust = &schema.LastBust{Pass: 177, At: before(34 * time.Minute), Cause: "pressure", Removed: 66_300, Resent: 23_100, Cost: &cost}
		s.LastPrice = &schema.PricedPass{Pass: 211, Cause: "not-worth-it", Price: schema.BustPrice{Resent: 28_800, Removed: 1700, BreakEven: 193.8, Forecast: 23}}
	}
	return st
}

func historied(st schema.SessionStatus) *schema.StatusResult {
	all := statusOf(2)
	all.Sessions[0] = st
	if st.History.IsOverdue {
		all.Warnings = []schema.Warning{{Source: "history", Directory: st.Directory, Message: "the history of session " + st.Session + " has waited for 8 requests to be summarised"}}
	}
	return all
}

// `both` returns the status of a host that serves OpenCode and Pi, with the same session id in both.
func both() *schema.StatusResult {
	st := statusOf(3)
	st.Sessions[1].Harness = schema.HarnessPi
	st.Sessions[1].Session = st.Sessions[0].Session
	return st
}

func summarised() schema.SessionStatus {
	st := statusOf(1).Sessions[0]
	st.Tokens.Head, st.Tokens.ToolResults = 9_700, st.Tokens.ToolResults-9_700
	st.Head = &schema.HeadStatus{
		Epoch: 3, FoldPass: 170, FoldedAt: before(50 * time.Minute), FoldReason: "idle", Through: 240, Covered: 182_000, Baseline: 9_000, Delta: 700,
		Folds:    []schema.CauseCount{{Cause: "idle", Count: 2}, {Cause: "first-head", Count: 1}},
		Sections: schema.HeadSections{Docs: 1_200, Compartments: 6_800, Memories: 900}, InBaseline: 7, InDelta: 1, Tiers: []int{3, 2, 1, 1, 0},
	}
	st.History = &schema.HistoryStatus{
		Compartments: 8, Extractive: 1, RawTokens: 182_000, Fidelity: 0.91, Weakest: &schema.CompartmentScore{Start: 31, End: 60, Fidelity: 0.72},
		Runs: 9, Publishes: 7, Extracted: 1, Usage: schema.HistorianUsage{Input: 210_000, CacheRead: 30_000, Output: 12_400},
		LastPublish: &schema.HistoryPublish{
			Pass: 176, At: before(35 * time.Minute), Start: 201, End: 240, Compartments: 2, Fidelity: 0.88, MadeBy: "model", Model: "anthropic/claude-haiku-4-5", Reason: "tail-size",
			UnconfirmedQuotes: 2, UnconfirmedFacts: 1,
		},
	}
	return st
}

func failing() schema.SessionStatus {
	st := summarised()
	h := st.History
	h.Failures, h.FailedAt, h.RetryPass = 3, before(2*time.Minute), 220
	h.Running = &schema.HistoryRun{Kind: "incremental", Since: before(42 * time.Second)}
	h.LastError = "anthropic/claude-haiku-4-5: \x1b[31mrange not in chunk; anthropic/claude-opus-4-5: 503 overloaded"
	h.Waited, h.IsOverdue = 8, true
	h.LastPublish.MadeBy, h.LastPublish.Model = "extractive", ""
	return st
}

func broken() *schema.StatusResult {
	st := statusOf(2)
	reason := "the database cannot be written: the disk is full; free some space, the host tries again by itself"
	st.Enabled, st.Reason = false, reason
	st.Warnings = []schema.Warning{
		{Source: "store", Message: "nothing can be stored, so sessions pass unchanged: " + reason},
		{Source: "config", Directory: "/home/u/work/website", Message: "execute_threshold_percentage is 95; at most 80 is possible, so 65 is used"},
	}
	return st
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func drawnOf(v Live, width, height int) string {
	drawn, _ := Screen(v, width, height, noon)
	return drawn
}

func TestScreens(t *testing.T) {
	many := statusOf(2)
	for n := range 5 {
		many.Warnings = append(many.Warnings, schema.Warning{Source: "config", Message: fmt.Sprintf("problem %d of the configuration", n+1)})
	}
	fresh := statusOf(1)
	fresh.Saved = nil
	fresh.Sessions[0] = schema.SessionStatus{Harness: schema.HarnessOpenCode, Session: "ses_new", Mode: "primary"}
	for _, test := range []struct {
		name string
		view Live
	}{
		{"none", Live{Status: statusOf(0)}},
		{"one", Live{Status: statusOf(1)}},
		{"thirty", Live{Status: statusOf(30)}},
		{"broken", Live{Status: broken(), Program: "magicctx-host"}},
		{"warnings", Live{Status: many, Program: "magicctx-host"}},
		{"fresh", Live{Status: fresh}},
		{"away", Live{Status: statusOf(3), Away: "no host is running", AwaySince: noon.Add(-75 * time.Second)}},
		{"waiting", Live{Away: "no host is running for /data", AwaySince: noon}},
		{"scrolled", Live{Status: statusOf(30), Choice: Choice{Selected: 17, Sort: 1}}},
		{"both", Live{Status: both(), Choice: Choice{Selected: 1}}},
		{"only-pi", Live{Status: both(), Choice: Choice{Harness: schema.HarnessPi}}},
		{"history", Live{Status: historied(summarised())}},
		{"history-down", Live{Status: historied(failing())}},
		{"filtered", Live{Status: statusOf(30), Choice: Choice{Filter: "hero", Typing: TypesFilter}}},
	} {
		for _, size := range []struct{ width, height int }{{40, 20}, {80, 24}, {200, 50}} {
			name := fmt.Sprintf("live-%s-%d", test.name, size.width)
			t.Run(name, func(t *testing.T) {
				golden(t, filepath.Join("testdata", "screen", name+".txt"), drawnOf(test.view, size.width, size.height)+"\n")
			})
		}
	}
}

func TestPrintedStatus(t *testing.T) {
	dropped := statusOf(1).Sessions[0]
	dropped.DroppedUnits = []schema.DroppedUnit{
		{Tag: 812, Kind: "tool", Tool: "read", About: "internal/view/screen.go", Tokens: 2140, Pass: 177, At: before(34 * time.Minute), Cause: "pressure", Rule: "queued drops"},
		{Tag: 790, Kind: "tool", Tool: "bash", About: "go test ./... 2>&1 | tail -60", Tokens: 4021, Partly: true, Pass: 177, At: before(34 * time.Minute), Cause: "pressure", Rule: "tool reclaim"},
		{Tag: 13, Kind: "text", Tokens: 350, Pass: 12, Cause: ""},
	}
	busy := statusOf(1).Sessions[0]
	busy.History = &schema.HistoryStatus{
		Compartments: 12, Covered: 240, RawTokens: 85_000, Fidelity: 0.91,
		Running:  &schema.HistoryRun{Kind: "wrapup", Since: before(3 * time.Minute), Start: 241, End: 300, Done: 260},
		Failures: 1, LastError: "no model gave a usable summary: small/model: \x1b[31mthe answer is empty", FailedAt: before(20 * time.Minute), RetryPass: busy.Passes + 3,
	}
	unfinished := statusOf(1).Sessions[0]
	unfinished.History = &schema.HistoryStatus{Unfinished: &schema.HistoryRun{Kind: "recomp", Start: 1, End: 240, Done: 80}}
	bare := statusOf(1).Sessions[0]
	bare.Dropped, bare.Tokens.Dropped, bare.Head = 0, 0, &schema.HeadStatus{Through: 240}
	for _, width := range []int{40, 80, 200} {
		for name, print := range map[string]func(io.Writer, Page) error{
			"none":         func(w io.Writer, p Page) error { return PrintStatus(w, *statusOf(0), p) },
			"one":          func(w io.Writer, p Page) error { return PrintStatus(w, *statusOf(1), p) },
			"thirty":       func(w io.Writer, p Page) error { return PrintStatus(w, *statusOf(30), p) },
			"broken":       func(w io.Writer, p Page) error { return PrintStatus(w, *broken(), p) },
			"session":      func(w io.Writer, p Page) error { return PrintSession(w, statusOf(2).Sessions[1], p) },
			"both":         func(w io.Writer, p Page) error { return PrintStatus(w, *both(), p) },
			"busy":         func(w io.Writer, p Page) error { return PrintSession(w, busy, p) },
			"unfinished":   func(w io.Writer, p Page) error { return PrintSession(w, unfinished, p) },
			"dropped":      func(w io.Writer, p Page) error { return PrintDropped(w, dropped, p) },
			"history":      func(w io.Writer, p Page) error { return PrintSession(w, summarised(), p) },
			"history-down": func(w io.Writer, p Page) error { return PrintSession(w, failing(), p) },
			"dropped-none": func(w io.Writer, p Page) error { return PrintDropped(w, bare, p) },
		} {
			name := fmt.Sprintf("%s-%d", name, width)
			t.Run(name, func(t *testing.T) {
				var b strings.Builder
				if err := print(&b, Page{Width: width, Now: noon, Program: "magicctx-host"}); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", "screen", name+".txt"), b.String())
				for line := range strings.Lines(b.String()) {
					if n := format.Columns(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%d columns: %q", n, line)
					}
				}
			})
		}
	}
}

var (
	escape     = regexp.MustCompile("\x1b\\[[0-9;]*m")
	spaceAtEnd = regexp.MustCompile("(?m) +$")
)

// Whatever the host answers and whatever the size of the terminal, the screen must fit. It must contain no control
// characters from the host's texts. Without colours, it must show the same text.
func TestScreenAlwaysFits(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/\\-. \x1b\n\té日本🙂\u0301")), 0, 60, -1)
	number := rapid.IntRange(0, 3_000_000)
	rapid.Check(t, func(r *rapid.T) {
		v := Live{Color: true, Program: "magicctx-host", Away: text.Draw(r, "away"), AwaySince: noon}
		if rapid.Bool().Draw(r, "heard") {
			v.Status = statusOf(rapid.IntRange(0, 40).Draw(r, "sessions"))
			v.Status.KnownSessions = number.Draw(r, "known")
			for n := range rapid.IntRange(0, 6).Draw(r, "warnings") {
				v.Status.Warnings = append(v.Status.Warnings, schema.Warning{Source: "config", Message: text.Draw(r, fmt.Sprint("warning ", n))})
			}
			if len(v.Status.Sessions) > 0 {
				s := &v.Status.Sessions[0]
				s.Directory, s.Session, s.Model.ID, s.LastCause = text.Draw(r, "directory"), text.Draw(r, "session"), text.Draw(r, "model"), text.Draw(r, "cause")
				s.Title, v.Choice.Filter, v.Choice.Typing = text.Draw(r, "title"), rapid.SampledFrom([]string{"", "a", "\x1b[2J"}).Draw(r, "filter"), rapid.SampledFrom([]Typing{TypesNothing, TypesFilter, TypesQuery}).Draw(r, "typing")
				v.Choice.Selected, v.Choice.Sort = rapid.IntRange(0, 50).Draw(r, "selected"), rapid.IntRange(0, 3).Draw(r, "sort")
				s.Pressure, s.Threshold = rapid.Float64Range(0, 3).Draw(r, "pressure"), rapid.Float64Range(0, 1).Draw(r, "threshold")
				s.InputTokens, s.Busts, s.LastPassAt = number.Draw(r, "tokens"), rapid.IntRange(0, 99_999).Draw(r, "busts"), rapid.Int64Range(0, noon.UnixMilli()).Draw(r, "at")
			}
		}
		width, height := rapid.IntRange(1, 200).Draw(r, "width"), rapid.IntRange(1, 60).Draw(r, "height")
		if v.Status != nil && len(v.Status.Sessions) > 0 && rapid.Bool().Draw(r, "opened") {
			v = v.Heard(v.Status, "", noon)
			v.Choice.Opened, v.Choice.Top = nameOf(v.Status.Sessions[0]), rapid.IntRange(0, 60).Draw(r, "top")
		}
		if rapid.Bool().Draw(r, "page") {
			v.Page = &TextPage{Title: text.Draw(r, "page title"), Text: text.Draw(r, "page text"), Top: rapid.IntRange(0, 9).Draw(r, "page top")}
		}
		coloured := drawnOf(v, width, height)
		v.Color = false
		plain := drawnOf(v, width, height)
		if diff := cmp.Diff(solid(plain), spaceAtEnd.ReplaceAllString(escape.ReplaceAllString(coloured, ""), "")); diff != "" {
			r.Errorf("colours change more than colours:\n%s", diff)
		}
		lines := strings.Split(plain, "\n")
		if len(lines) != max(height, minHeight) {
			r.Errorf("%d lines on a screen of %d", len(lines), height)
		}
		for _, line := range lines {
			if n := format.Columns(line); n > max(width, minWidth) {
				r.Errorf("%d columns on a screen of %d: %q", n, width, line)
			}
			if format.Clean(line) != line || !utf8.ValidString(line) {
				r.Errorf("not fit for a terminal: %q", line)
			}
		}
	})
}

func solid(text string) string {
	for _, part := range sources(schema.TokensBySource{}) {
		text = barCells.ReplaceAllStringFunc(text, func(cells string) string { return strings.ReplaceAll(cells, string(part.plain), "█") })
		text = strings.ReplaceAll(text, string(part.plain)+" "+part.name[:4], "█ "+part.name[:4]) // a narrow screen cuts the name
	}
	return text
}

var barCells = regexp.MustCompile(`(?m)^ [█▓▒░%#=│·]+$`)

func TestColourMeansSomething(t *testing.T) {
	st := statusOf(1)
	s := &st.Sessions[0]
	for _, test := range []struct {
		pressure float64
		bust     bool
		want     string
	}{
		{0.30, false, ""},
		{0.66, false, "\x1b[33m"},
		{0.90, false, "\x1b[31m"},
		{0.30, true, "\x1b[33mbust"},
	} {
		s.Pressure, s.LastPassBust = test.pressure, test.bust
		got := drawnOf(Live{Status: st, Color: true}, 160, 30)
		if test.want == "" && (strings.Contains(got, "\x1b[33m") || strings.Contains(got, "\x1b[31m")) || !strings.Contains(got, test.want) {
			t.Errorf("pressure %v, bust %t: want %q in\n%q", test.pressure, test.bust, test.want, got)
		}
	}
}

func TestColumns(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{format.Cut("magicctx", 5), "magi…"}, {format.Left("日本語", 5), "日本…"}, {format.Left("日本語", 4), "日… "}, {format.Right("ab", 4), "  ab"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestKeysScrollSortAndFilter(t *testing.T) {
	st := statusOf(12)
	press := func(keys ...string) (Live, Action) {
		v, action := Live{Status: st}, NoAction
		for _, key := range keys {
			text := key
			if len(key) > 1 {
				text = ""
			}
			v, action = v.Pressed(key, text, 3)
		}
		return v, action
	}
	hero := []string{"/", "h", "e", "x", "backspace", "r", "o", "enter"}
	for _, test := range []struct {
		keys []string
		want Choice
	}{
		{[]string{"down", "down", "up"}, Choice{Selected: 1}},
		{[]string{"up"}, Choice{}},
		{[]string{"pgdown", "pgdown"}, Choice{Selected: 11}},
		{[]string{"end", "k"}, Choice{Selected: 10}},
		{[]string{"j", "s"}, Choice{Sort: 1}},
		{[]string{"s", "s", "s", "s"}, Choice{}},
		{[]string{"/", "q"}, Choice{Filter: "q", Typing: TypesFilter}}, // while the user types a filter, q does not quit
		{append(hero, "j"), Choice{Filter: "hero", Selected: 1}},
		{append(hero, "esc"), Choice{}},
		{[]string{"/", "z", "enter", "j", "j"}, Choice{Filter: "z"}},
		{[]string{"j", "enter"}, Choice{Selected: 1, Opened: nameOf(st.Sessions[1])}},
		{[]string{"enter", "down", "end"}, Choice{Opened: nameOf(st.Sessions[0]), Top: 4}},
		{[]string{"enter", "down", "esc"}, Choice{}},
	} {
		if got, _ := press(test.keys...); got.Choice != test.want {
			t.Errorf("%q: got %+v, want %+v", test.keys, got.Choice, test.want)
		}
	}
	for key, want := range map[string]Action{"q": Quit, "ctrl+c": Quit, "m": Memories, "p": Spent, "d": Dropped, "h": Summaries} {
		if _, got := press(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
		if !strings.Contains(keyHelp, "\n"+key+" ") && !strings.HasPrefix(keyHelp, key+" ") && key != "ctrl+c" {
			t.Errorf("the help does not name %s", key)
		}
	}
	if v, got := press("f", "q", "enter"); got != Find || v.Choice.Query != "q" {
		t.Errorf("f: got %q, %+v", got, v.Choice)
	}
	if v, _ := press("?", "down"); v.Page == nil || v.Page.Top != 1 {
		t.Errorf("? shows no help that scrolls: %+v", v.Page)
	}
	for _, s := range (Choice{Filter: "HERO"}).apply(st.Sessions) {
		if !strings.Contains(s.Title, "hero") {
			t.Errorf("%q matches hero", s.Title)
		}
	}
	byPressure := (Choice{Sort: 1}).apply(st.Sessions)
	for i := range byPressure[1:] {
		if byPressure[i].Pressure < byPressure[i+1].Pressure {
			t.Errorf("pressure %v stands before %v", byPressure[i].Pressure, byPressure[i+1].Pressure)
		}
	}
}

// If the prompt fills half of the window, it must also fill half of the bar. Every mark must stay visible.
func TestBarShowsEachPartAndMark(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		part := rapid.Int64Range(0, 300_000)
		st := schema.SessionStatus{ContextTokens: 200_000, Threshold: 0.65, Tokens: schema.TokensBySource{System: part.Draw(r, "system"), Text: part.Draw(r, "text"), ToolResults: part.Draw(r, "results")}}
		st.NextBust = &schema.NextBust{Down: 50_000}
		s := screen{width: rapid.IntRange(minWidth, 160).Draw(r, "width")}
		s.bar(st)
		cells := []rune(strings.TrimPrefix(s.lines[0], " "))
		if n := min(s.width-2, maxBar); len(cells) != n {
			r.Fatalf("%d cells, want %d: %q", len(cells), n, s.lines[0])
		}
		if got := strings.Count(s.lines[0], "│"); got != 3 && promptOf(st.Tokens) <= 200_000 {
			r.Errorf("%d marks, want 3: %q", got, s.lines[0])
		}
		whole := max(200_000, promptOf(st.Tokens))
		if want, got := float64(promptOf(st.Tokens))/float64(whole)*float64(len(cells)), float64(len(cells)-strings.Count(s.lines[0], "·")); got < want-4 || got > want+4 {
			r.Errorf("%v of %d cells are filled, want about %v: %q", got, len(cells), want, s.lines[0])
		}
	})
}

// The notice that a wrap-up has stopped disappears after some seconds. So the card must also say why the wrap-up
// stopped.
func TestCardSaysWhyAWrapUpStopped(t *testing.T) {
	st := summarised()
	st.History.Stopped = &schema.StoppedRun{Kind: "wrapup", At: before(5 * time.Minute), Start: 1, End: 56, Reason: "401 unauthorized"}
	st.History.Failures, st.History.LastError = 1, "401 unauthorized"
	var b strings.Builder
	if err := PrintSession(&b, st, Page{Width: 200, Now: noon}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "the wrap-up of messages 1-56 stopped 5m ago: 401 unauthorized") || strings.Count(got, "401") != 1 || strings.Contains(got, "healthy") {
		t.Errorf("the card is\n%s", got)
	}
}

func TestDocumentNamesEachLabelOfTheCard(t *testing.T) {
	doc, err := os.ReadFile("../../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	st := failing()
	st.LostThinkingBlocks, st.LostThinkingTokens, st.BindsThinking = 1, 100, true
	var b strings.Builder
	if err := PrintSession(&b, st, Page{Width: 400, Now: noon}); err != nil {
		t.Fatal(err)
	}
	_, facts, _ := strings.Cut(b.String(), "\n\n")
	labels := 0
	for line := range strings.Lines(facts) {
		label := strings.TrimSpace(line[:labelColumns])
		if label == "" {
			continue
		}
		labels++
		if !strings.Contains(string(doc), "| `"+label+"` |") {
			t.Errorf("docs/status.md has no row for %q", label)
		}
	}
	if labels < 15 {
		t.Errorf("the card has %d labels", labels)
	}
}
