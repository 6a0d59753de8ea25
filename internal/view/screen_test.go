package view

import (
	"flag"
	"fmt"
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

// noon is the current time in the golden screens.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) int64 { return noon.Add(-d).UnixMilli() }

func statusOf(sessions int) *schema.StatusResult {
	st := &schema.StatusResult{
		Version: "1.4.0", PID: 4711, StartedAt: before(3*time.Hour + 12*time.Minute), Enabled: true,
		MemoryBytes: 84 << 20, StoreBytes: 13 << 20, KnownSessions: sessions, Sessions: []schema.SessionStatus{},
		Clients: []schema.ClientStatus{{Client: "opencode-shim"}, {Client: "magicctx-host status"}},
	}
	models := []string{"claude-opus-4-5", "gpt-5.2-codex", "openrouter/moonshotai/kimi-k2-thinking"}
	causes := []string{"", "threshold", "", "model-switch"}
	for n := range sessions {
		s := schema.SessionStatus{
			Harness: schema.HarnessOpenCode, Session: fmt.Sprintf("ses_5a1f%06x", 7919*n), Directory: "/home/u/work/" + []string{"magicctx", "website", "a-rather-long-project-name"}[n%3],
			Mode: "primary", Model: schema.Model{Provider: "anthropic", ID: models[n%3]}, Epoch: 1 + n%4, Passes: 212 - 3*n,
			Busts: n % 4, LastVerdict: schema.Steady, LastPassAt: before(time.Duration(12+n*n*90) * time.Second), LastPassMS: 1.9, Messages: 640 - 9*n,
			InputTokens: 6_000 + (71_000*n)%190_000, ContextTokens: 200_000, LimitSource: schema.LimitCatalogue, LimitAt: before(time.Hour), Threshold: 0.65, Units: 913, Dropped: 402, Queued: n % 3,
			CacheLifeMS: 300_000, CacheRoute: "anthropic", CacheLifeSource: schema.CacheLifeRoute, CacheLifeReason: "Anthropic's default",
			CacheRead: 4_120_000, CacheWrite: 310_000, CacheFresh: 12_000, CacheHitRate: 0.927,
			Tokens: schema.TokensBySource{System: 11_800, Text: 38_200, ToolInputs: 9100, ToolResults: 61_000, Dropped: 212_400},
		}
		s.Pressure = float64(s.InputTokens) / float64(s.ContextTokens)
		if cause := causes[n%4]; cause != "" {
			s.LastVerdict, s.LastCause, s.LastPassBust = schema.Soft, cause, true
			s.BustCauses = []schema.CauseCount{{Cause: cause, Count: s.Busts}}
		}
		if n%5 == 4 {
			s.Parent, s.Mode = "ses_5a1f000000", "subagent"
		}
		st.Sessions = append(st.Sessions, s)
	}
	return st
}

func TestScreens(t *testing.T) {
	busy := statusOf(1)
	s := &busy.Sessions[0]
	s.InputTokens, s.Pressure = 61_000, 0.305
	s.Busts, s.BustCauses, s.Queued = 3, []schema.CauseCount{{Cause: "threshold", Count: 2}, {Cause: "model-switch", Count: 1}}, 4
	s.SizeTokens, s.GoalTokens = 61_400, 38_000
	s.LastPrice = &schema.PricedPass{Pass: 211, Cause: "not-worth-it", Price: schema.BustPrice{Resent: 28_800, Removed: 1700, BreakEven: 193.8, Forecast: 23}}
	warned := statusOf(2)
	warned.Warnings = []schema.Warning{
		{Source: "store", Message: "nothing can be stored, so sessions pass unchanged: the database cannot be written: the disk is full"},
		{Source: "config", Message: "one"},
		{Source: "config", Message: "two"},
		{Source: "config", Message: "three"},
	}
	fresh := statusOf(1)
	fresh.Sessions[0] = schema.SessionStatus{Harness: schema.HarnessOpenCode, Session: "ses_new", Mode: "primary"}
	for _, test := range []struct {
		name string
		view Live
	}{
		{"none", Live{Status: statusOf(0)}},
		{"one", Live{Status: busy}},
		{"thirty", Live{Status: statusOf(30)}},
		{"warnings", Live{Status: warned}},
		{"fresh", Live{Status: fresh}},
		{"away", Live{Status: statusOf(3), Away: "no host is running", AwaySince: noon.Add(-75 * time.Second)}},
		{"waiting", Live{Away: "no host is running for /data", AwaySince: noon}},
	} {
		for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}} {
			name := fmt.Sprintf("%s-%d", test.name, size.width)
			t.Run(name, func(t *testing.T) {
				got := Screen(test.view, size.width, size.height, noon) + "\n"
				file := filepath.Join("testdata", "screen", name+".txt")
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
					t.Errorf("screen (-want +got):\n%s", diff)
				}
			})
		}
	}
}

var (
	escape     = regexp.MustCompile("\x1b\\[[0-9;]*m")
	spaceAtEnd = regexp.MustCompile("(?m) +$")
)

// For every answer of the host and every size of the terminal, the screen fits and holds no foreign
// escape sequence. Switching colours off changes nothing else.
func TestScreenAlwaysFits(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/\\-. \x1b\n\té日本🙂\u0301")), 0, 60, -1)
	number := rapid.IntRange(0, 3_000_000)
	rapid.Check(t, func(r *rapid.T) {
		v := Live{Color: true, Away: text.Draw(r, "away"), AwaySince: noon}
		if rapid.Bool().Draw(r, "heard") {
			v.Status = statusOf(rapid.IntRange(0, 40).Draw(r, "sessions"))
			v.Status.KnownSessions = number.Draw(r, "known")
			for n := range rapid.IntRange(0, 6).Draw(r, "warnings") {
				v.Status.Warnings = append(v.Status.Warnings, schema.Warning{Source: "config", Message: text.Draw(r, fmt.Sprint("warning ", n))})
			}
			if len(v.Status.Sessions) > 0 {
				s := &v.Status.Sessions[0]
				s.Directory, s.Session, s.Model.ID, s.LastCause = text.Draw(r, "directory"), text.Draw(r, "session"), text.Draw(r, "model"), text.Draw(r, "cause")
				s.Pressure, s.Threshold = rapid.Float64Range(0, 3).Draw(r, "pressure"), rapid.Float64Range(0, 1).Draw(r, "threshold")
				s.InputTokens, s.Busts, s.LastPassAt = number.Draw(r, "tokens"), rapid.IntRange(0, 99_999).Draw(r, "busts"), rapid.Int64Range(0, noon.UnixMilli()).Draw(r, "at")
			}
		}
		width, height := rapid.IntRange(1, 200).Draw(r, "width"), rapid.IntRange(1, 60).Draw(r, "height")
		coloured := Screen(v, width, height, noon)
		v.Color = false
		plain := Screen(v, width, height, noon)
		if diff := cmp.Diff(plain, spaceAtEnd.ReplaceAllString(escape.ReplaceAllString(coloured, ""), "")); diff != "" {
			r.Errorf("colours change more than colours:\n%s", diff)
		}
		lines := strings.Split(plain, "\n")
		if len(lines) != max(height, minHeight) {
			r.Errorf("%d lines on a screen of %d", len(lines), height)
		}
		for _, line := range lines {
			if n := columns(line); n > max(width, minWidth) {
				r.Errorf("%d columns on a screen of %d: %q", n, width, line)
			}
			if format.Clean(line) != line || !utf8.ValidString(line) {
				r.Errorf("not fit for a terminal: %q", line)
			}
		}
	})
}

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
		{0.30, true, "\x1b[33msteady"},
	} {
		s.Pressure, s.LastPassBust = test.pressure, test.bust
		got := Screen(Live{Status: st, Color: true}, 80, 24, noon)
		if test.want == "" && (strings.Contains(got, "\x1b[33m") || strings.Contains(got, "\x1b[31m")) || !strings.Contains(got, test.want) {
			t.Errorf("pressure %v, bust %t: want %q in\n%q", test.pressure, test.bust, test.want, got)
		}
	}
}

func TestWindowNamesItsSource(t *testing.T) {
	for _, test := range []struct {
		tokens int
		source schema.LimitSource
		at     int64
		want   string
	}{
		{200_000, schema.LimitCatalogue, before(time.Hour), "200k, by the harness's catalogue"},
		{131_072, schema.LimitOverflow, before(3 * time.Hour), "131k, learned from a refused prompt 3h00m ago"},
		{260_000, schema.LimitUsage, before(time.Minute), "at least 260k, as a prompt of that size was accepted 1m ago"},
		{100_000, schema.LimitConfig, 0, "100k, as configured"},
		{0, schema.LimitDefault, 0, "unknown to the harness's catalogue"},
		{0, "", 0, "unknown"},
		{200_000, "", 0, "200k"}, // an older host sends no source
	} {
		if got := windowOf(schema.SessionStatus{ContextTokens: test.tokens, LimitSource: test.source, LimitAt: test.at}, noon); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestCacheLifeNamesItsSource(t *testing.T) {
	for _, test := range []struct {
		life   time.Duration
		reason string
		want   string
	}{
		{5 * time.Minute, "Anthropic's default", "5 min (Anthropic's default)"},
		{time.Hour, "configured", "1 h (configured)"},
		{12*time.Minute + 4*time.Second, "learned: a prefix was read after 12 min", "12 min (learned: a prefix was read after 12 min)"},
		{0, "configured", "0 s (configured)"},
		{0, "", ""}, // an older host sends no cache life
	} {
		if got := cacheLifeOf(schema.SessionStatus{CacheLifeMS: test.life.Milliseconds(), CacheLifeReason: test.reason}); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestStatusTellsEachCacheLifeOnce(t *testing.T) {
	st := statusOf(4)
	st.Sessions[1].CacheLifeMS, st.Sessions[1].CacheLifeReason = 2_400_000, "learned: a prefix was read after 40 min"
	st.Sessions[2].CacheLifeReason = ""
	var b strings.Builder
	if err := PrintStatus(&b, *st, noon); err != nil {
		t.Fatal(err)
	}
	_, lives, _ := strings.Cut(b.String(), "\n\nanthropic/claude")
	want := "-opus-4-5  cache life 5 min (Anthropic's default)\nanthropic/gpt-5.2-codex    cache life 40 min (learned: a prefix was read after 40 min)\n"
	if lives != want {
		t.Errorf("got %q, want %q in\n%s", lives, want, b.String())
	}
}

func TestColumns(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{cut("magicctx", 5), "magi…"}, {tail("magicctx", 5), "…cctx"}, {left("日本語", 5), "日本…"}, {left("日本語", 4), "日… "}, {right("ab", 4), "  ab"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
