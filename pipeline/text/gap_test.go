package text

import (
	"math"
	"strings"
	"testing"
)

// Vector V09 and the values of spec transform §21.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{299.9, ""},
		{300, "+5m"},
		{3599, "+59m"},
		{3600, "+1h"},
		{8100, "+2h 15m"},
		{86400, "+1d"},
		{187200, "+2d 4h"},
		{604799, "+6d 23h"},
		{604800, "+1w"},
		{691200, "+1w 1d"},
		{-5, ""},

		{3659.9, "+1h"},
		{3660, "+1h 1m"},
		{86399, "+23h 59m"},
		{86400 + 3599, "+1d"},
		{365 * 86400, "+52w 1d"},
		{math.NaN(), ""},
		{math.Inf(1), ""},
		{math.Inf(-1), ""},
		{math.MaxFloat64, ""},
	} {
		if got := Gap(c.seconds); got != c.want {
			t.Errorf("Gap(%v) = %q, want %q", c.seconds, got, c.want)
		}
		if got := GapMarker(c.seconds); (got == "") != (c.want == "") || got != "" && !gapMarker.MatchString(got) {
			t.Errorf("GapMarker(%v) = %q", c.seconds, got)
		}
	}
}

func TestWithGap(t *testing.T) {
	const m = "<!-- +2h 15m -->\n"
	if got := GapMarker(8100); got != m {
		t.Errorf("GapMarker = %q", got)
	}
	for in, want := range map[string]string{
		"hi":                      m + "hi",
		"":                        m,
		"§9§ hi":                  "§9§ " + m + "hi",
		" §9§ §10§\n hi §11§":     " §9§ §10§\n " + m + "hi §11§",
		"  hi":                    m + "  hi",
		"§5.1 hi":                 m + "§5.1 hi",
		"§§ hi":                   m + "§§ hi",
		"<!-- +5m -->\nhi":        "<!-- +5m -->\nhi",
		"§9§ <!-- +1w 1d -->\nhi": "§9§ <!-- +1w 1d -->\nhi",
		"<!-- +5m --> hi":         m + "<!-- +5m --> hi",
		"<!-- +5y -->\nhi":        m + "<!-- +5y -->\nhi",
		"hi\n<!-- +5m -->\nhi":    m + "hi\n<!-- +5m -->\nhi",
	} {
		if got := WithGap(in, m); got != want {
			t.Errorf("WithGap(%q) = %q, want %q", in, got, want)
		}
	}
	if got := WithGap("§9§ hi", ""); got != "§9§ hi" {
		t.Errorf("without a marker: %q", got)
	}
}

// A second marker on the same text would be a bust.
func FuzzWithGap(f *testing.F) {
	f.Add("§9§ §1\xff", 300.0)
	f.Add("<!-- +5m -->\n", 1e9)
	f.Fuzz(func(t *testing.T, in string, seconds float64) {
		m := GapMarker(seconds)
		once := WithGap(in, m)
		if again := WithGap(once, m); again != once {
			t.Fatalf("%q became %q", once, again)
		}
		if once != in && strings.Replace(once, m, "", 1) != in {
			t.Fatalf("%q is not %q with a marker", once, in)
		}
	})
}
