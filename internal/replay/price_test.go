package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

func priced(v schema.Verdict, cause string, b schema.BustPrice) *Pass {
	p := passOf(10, 20, 30)
	p.Verdict, p.Cause, p.Price = v, cause, b
	if v != schema.Steady {
		p.Bust, p.BustCause = true, cause
	}
	return p
}

func TestPriceNote(t *testing.T) {
	for _, c := range []struct {
		name string
		pass *Pass
		want string
	}{
		{"a bust", priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41}), "re-sends 12.9k, removes 9.8k, pays off after 3 passes of 41"},
		{"a bust that has paid already", priced(schema.Soft, "flush", schema.BustPrice{Resent: 10, Removed: 9800, BreakEven: -0.9, Forecast: 41}), "re-sends 10, removes 9.8k, pays off at once"},
		{"one that never pays", priced(schema.Soft, "flush", schema.BustPrice{Resent: 12_900}), "re-sends 12.9k, removes 0"},
		{"a bust that waits", priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 900, Removed: 100, BreakEven: 80, Forecast: 1}), "waits: re-sends 900, removes 100, pays off after 80 passes of 1"},
		{"a prefix that was gone", priced(schema.Hard, "idle", schema.BustPrice{Resent: 900, Removed: 100, BreakEven: 80}), ""},
		{"a steady pass", passOf(1, 2, 3), ""},
		{"the widest", priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 999_900, Removed: 999_800, BreakEven: 88_888, Forecast: 5000}), "waits: re-sends 999.9k, removes 999.8k, pays off after 999+ passes of 5000"},
	} {
		if c.name == "a steady pass" {
			c.pass.Verdict = schema.Steady
		}
		if got := priceNote(c.pass); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The timeline has one line of notes per bust, and one for a series of passes that wait.
func TestTimelineTellsPrices(t *testing.T) {
	waits := func() *Pass {
		return priced(schema.Steady, "not-worth-it", schema.BustPrice{Resent: 999_900, Removed: 999_800, BreakEven: 88_888, Forecast: 5000})
	}
	s := summaryOf(passOf(1, 2, 3), waits(), waits(), waits(),
		priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41}))
	var out bytes.Buffer
	if err := Print(&out, s, PrintOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n      waits: "); n != 1 {
		t.Errorf("%d passes wait:\n%s", n, &out)
	}
	if !strings.Contains(out.String(), "\n      re-sends 12.9k, removes 9.8k, pays off after 3 passes of 41\n") {
		t.Errorf("the bust has no price:\n%s", &out)
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestPageTellsPrices(t *testing.T) {
	got := page(t, summaryOf(passOf(1, 2, 3), priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.2, Forecast: 41})), "a")
	const note = "re-sends 12.9k, removes 9.8k, pays off after 3 passes of 41"
	for _, want := range []string{`<td class="wide">` + note + `</td>`, `"soft, bust: pressure, ` + note + `"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestJSONTellsPricesWhereThereAreAny(t *testing.T) {
	bust := priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.5, Forecast: 41})
	bust.Size, bust.Goal = 140_000, 120_000
	content, err := json.Marshal(summaryOf(passOf(1, 2, 3), bust))
	if err != nil {
		t.Fatal(err)
	}
	const price = `"price":{"resent":12900,"removed":9800,"breakEven":2.5,"forecast":41}`
	if n := strings.Count(string(content), price); n != 2 { // once for the pass and once for the bust
		t.Errorf("%d prices in %s", n, content)
	}
	for _, name := range []string{`"price":`, `"size":140000`, `"goal":120000`} {
		if n := strings.Count(string(content), name); n != 1 && name != `"price":` || name == `"price":` && n != 2 {
			t.Errorf("%d times %s in %s", n, name, content)
		}
	}
}
