package text

import (
	"math"
	"testing"
)

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

func TestStartsWithGap(t *testing.T) {
	for in, want := range map[string]bool{
		"hi":                      false,
		"":                        false,
		"<!-- +5m -->\nhi":        true,
		"<!-- +1w 1d -->\nhi":     true,
		"§9§ <!-- +1w 1d -->\nhi": false, // a tag before it makes the marker ordinary content
		"<!-- +5m --> hi":         false,
		"<!-- +5y -->\nhi":        false,
		"hi\n<!-- +5m -->\nhi":    false,
	} {
		if got := StartsWithGap(in); got != want {
			t.Errorf("StartsWithGap(%q) = %v", in, got)
		}
	}
	if got := GapMarker(8100); got != "<!-- +2h 15m -->\n" || !StartsWithGap(got+"hi") {
		t.Errorf("GapMarker = %q", got)
	}
}
