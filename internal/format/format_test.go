package format

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1k", 1700: "1.7k", 9_960: "10k", 12_900: "12.9k", 99_940: "99.9k", 99_960: "100k",
		122_400: "122k", 999_499: "999k", 999_500: "1M", 4_120_000: "4.1M", 123_400_000: "123M",
	} {
		if got := Tokens(n); got != want {
			t.Errorf("%d tokens are %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d in full is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{1: "1 KB", 4096: "4 KB", 5 << 19: "2.5 MB", 84 << 20: "84 MB", 3 << 29: "1.5 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
	for x, want := range map[float64]string{0: "$0", 0.000001: "<$0.0001", 0.00123: "$0.0012", 0.00999: "$0.010", 0.01234: "$0.012", 0.0999: "$0.10", 0.7789: "$0.78", 1.234: "$1.23", 123.4: "$123"} {
		if got := Money(x); got != want {
			t.Errorf("%v dollars are %q, want %q", x, got, want)
		}
	}
	for got, want := range map[string]string{Percent(0.927): "93%", FinePercent(0.9274): "92.7%", Count(1, "session"): "1 session", Count(0, "session"): "0 sessions", Count(2, "pass"): "2 passes", Count(3, "summary"): "3 summaries", Count(3, "day"): "3 days", Plural(1, "bust") + Plural(2, "bust"): "bustbusts"} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 192 * time.Minute: "3h12m", 49 * time.Hour: "2d"} {
		if got := Age(d); got != want {
			t.Errorf("the age %v is %q, want %q", d, got, want)
		}
	}
	now := time.UnixMilli(1_790_000_000_000)
	if got := AgeOf(now.Add(-time.Minute).UnixMilli(), now) + AgeOf(0, now); got != "1m-" {
		t.Errorf("got %q", got)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 2 * time.Second: "2 s", time.Minute: "1 min", 90 * time.Second: "90 s", 5 * time.Minute: "5 min", 59*time.Minute + 50*time.Second: "60 min",
		time.Hour: "1 h", 24 * time.Hour: "24 h", 150 * time.Minute: "2.5 h", 90 * time.Minute: "90 min",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestCleanRemovesTerminalSequences(t *testing.T) {
	for text, want := range map[string]string{
		"plain é日本🙂":                     "plain é日本🙂",
		"a\x1b[31mred\x1b[0mb":           "aredb",
		"a\x1b]0;title\ab":               "ab",
		"a\x1b]8;;http://x\x1b\\b":       "ab",
		"a\x1bcb\x1b(0c":                 "abc",
		"a\u009b2Jb":                     "ab",
		"a\x1bP1;2qpicture\u009cb":       "ab",
		"a\x1b]0;never ends":             "a0;never ends",
		"a\x1b\x1b[2J[2Jb":               "a?[2Jb",
		"user\u202etxt.exe\u2066x\u2069": "usertxt.exex",
		"soft\u00adhyphen\u200b\ufeff":   "softhyphen",
		"two\nlines\tand a tab":          "two lines and a tab",
		"bell\a, nothing\x00":            "bell?, nothing?",
		"broken \xff":                    "broken \ufffd",
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) is %q, want %q", text, got, want)
		}
	}
	if got, want := CleanLines("a\n\tb\r\x1b[2Jc\u202e"), "a\n\tb c"; got != want {
		t.Errorf("CleanLines returns %q, want %q", got, want)
	}
}

// A diff must show every part of a file.
func TestHostileCloneHidesNothingInAFile(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\tb\x1b[2Jc\u202ed":          "a\n\tb?[2Jc?d",
		"a\x1b]0;evil\a\r\u009b1A\u200b": "a?]0;evil???1A?",
	} {
		if got := CleanAll(text); got != want {
			t.Errorf("CleanAll(%q) is %q, want %q", text, got, want)
		}
	}
	if got, want := CleanLines("a\x1b]0;\nb\nc"), "a0;\nb\nc"; got != want {
		t.Errorf("CleanLines returns %q, want %q: a string that does not end hides the lines after it", got, want)
	}
}

func TestCleanJSONKeepsItsMeaning(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b\u009b\u202e\u2066\u200b\x7f\U000e0041")))).Draw(r, "text")
		text = strings.ToValidUTF8(text, "")
		encoded, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			r.Fatal(err)
		}
		printed := CleanJSON(encoded)
		if strings.ContainsFunc(string(printed), func(c rune) bool { return !unicode.IsPrint(c) }) {
			r.Errorf("%q is not fit for a terminal", printed)
		}
		var got map[string]string
		if err := json.Unmarshal(printed, &got); err != nil || got["text"] != text {
			r.Errorf("%q became %q (%v)", text, got["text"], err)
		}
	})
}

// The text contains 50,000 escape sequences without an end. If Clean searched the whole rest of the text for the end of
// each one, it would take hours.
func TestHostileSequencesAreReadOnce(t *testing.T) {
	const n = 50_000
	for start, left := range map[string]string{"\x1b]": "a", "\u009d": "?a", "\u0090": "?a", "\u0098": "?a", "\u009e": "?a", "\u009f": "?a"} {
		if got := Clean(strings.Repeat(start+"\u009b1ma", n)); got != strings.Repeat(left, n) {
			t.Errorf("%q: %.40q, want %q again and again", start, got, left)
		}
	}
}

func TestCleanTextIsFit(t *testing.T) {
	runes := []rune("ab[]0;mJ\\Pc \x1b\x9b\x07\n\t\r\u202e\u2066\u200d\u0301日🙂\ufffd")
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom(runes), 0, 40, -1).Draw(r, "text")
		got := CleanLines(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(c rune) bool { return !unicode.IsPrint(c) && c != '\n' && c != '\t' }) {
			r.Errorf("%q is not fit for a terminal", got)
		}
		if again := CleanLines(got); again != got {
			r.Errorf("cleaning %q again gives %q", got, again)
		}
	})
}

func TestInARow(t *testing.T) {
	for _, test := range []struct {
		n          int
		when, want string
	}{
		{1, "", "once"}, {1, "5m ago", "once, 5m ago"}, {3, "", "3 times in a row"}, {3, "at 14:32", "3 times in a row, last at 14:32"},
	} {
		if got := InARow(test.n, test.when); got != test.want {
			t.Errorf("%d, %q: %q, want %q", test.n, test.when, got, test.want)
		}
	}
}

func TestSpending(t *testing.T) {
	carry := Carry{Tokens: 12_000, Paid: 50_000, Price: 200_000, Cost: 0.5}
	for _, test := range []struct {
		setting string
		early   float64
		carry   Carry
		want    string
	}{
		{"", 1, carry, ""},
		{"balanced", 0, Carry{}, "balanced"},
		{"frugal", 3.1, carry, "frugal: removing early saved about $3.10 so far"},
		{"balanced", -0.02, Carry{}, "balanced: removing early cost about $0.02 so far, and saves with each request"},
		{"generous", 0, carry, "generous; 12k tokens could go, and carrying them cost 25% of what removing them costs (about $0.50)"},
	} {
		if got := Spending(test.setting, test.early, test.carry); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
