package format

import "testing"

func TestTokensOnTheCommandLine(t *testing.T) {
	for text, want := range map[string]TokenCount{"64k": 64_000, "64K": 64_000, "1.5m": 1_500_000, "200000": 200_000, "0": 0} {
		var got TokenCount
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "64kk", "-1k", "64kb", "1.0001k", "1e30", "NaN", "Inf"} {
		var got TokenCount
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

func TestPercentagesOnTheCommandLine(t *testing.T) {
	for text, want := range map[string]Percentage{"70": 70, "70%": 70, "62.5%": 62.5} {
		var got Percentage
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "many", "70%%", "NaN"} {
		var got Percentage
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
