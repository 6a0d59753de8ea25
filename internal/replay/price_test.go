package replay

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
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

func TestJSONTellsPricesWhereThereAreAny(t *testing.T) {
	bust := priced(schema.Soft, "pressure", schema.BustPrice{Resent: 12_900, Removed: 9800, BreakEven: 2.5, Forecast: 41})
	bust.Size, bust.Goal = 140_000, 120_000
	content, err := json.Marshal(summaryOf(passOf(1, 2, 3), bust))
	if err != nil {
		t.Fatal(err)
	}
	const price = `"price":{"resent":12900,"removed":9800,"breakEven":2.5,"forecast":41}`
	if n := strings.Count(string(content), price); n != 2 { // the price appears once for the pass and once for the bust
		t.Errorf("%d prices in %s", n, content)
	}
	for _, name := range []string{`"price":`, `"size":140000`, `"goal":120000`} {
		if n := strings.Count(string(content), name); n != 1 && name != `"price":` || name == `"price":` && n != 2 {
			t.Errorf("%d times %s in %s", n, name, content)
		}
	}
}

func summaryOf(passes ...*Pass) Summary {
	for i, p := range passes {
		p.Pass = i + 1
		if p.Session == "" {
			p.Session = "ses_one"
		}
		if p.Verdict == "" {
			p.Verdict = schema.Steady
		}
	}
	return (&Report{Passes: passes}).Summary()
}

func passOf(results, written, read int) *Pass {
	return &Pass{Sources: Sources{System: written + read - results, Results: results}, Tokens: promptcache.Tokens{Write: written, Read: read}}
}
