package model

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

func TestBeliefWeighsItsSources(t *testing.T) {
	catalogue := func(context, input int) schema.ModelLimits {
		return schema.ModelLimits{ContextTokens: context, InputTokens: input}
	}
	for _, test := range []struct {
		name      string
		catalogue schema.ModelLimits
		use       models.WindowRow
		want      Window
	}{
		{"nothing known", catalogue(0, 0), models.WindowRow{}, Window{0, schema.LimitDefault, 0}},
		{"catalogue", catalogue(200_000, 0), models.WindowRow{}, Window{200_000, schema.LimitCatalogue, 0}},
		{"input limit wins", catalogue(400_000, 272_000), models.WindowRow{}, Window{272_000, schema.LimitCatalogue, 0}},
		{"least", catalogue(1_000, 0), models.WindowRow{}, Window{1_000, schema.LimitCatalogue, 0}},
		{"too small", catalogue(999, 0), models.WindowRow{}, Window{0, schema.LimitDefault, 0}},
		{"small and wrong", catalogue(8_192, 0), models.WindowRow{AcceptedTokens: 8_193, AcceptedAt: 9}, Window{8_193, schema.LimitUsage, 9}},
		{"most", catalogue(10_000_000, 0), models.WindowRow{}, Window{10_000_000, schema.LimitCatalogue, 0}},
		{"too large", catalogue(10_000_001, 0), models.WindowRow{}, Window{0, schema.LimitDefault, 0}},
		{"overflow lowers", catalogue(200_000, 0), models.WindowRow{OverflowTokens: 131_072, OverflowAt: 7}, Window{131_072, schema.LimitOverflow, 7}},
		{"overflow does not raise", catalogue(200_000, 0), models.WindowRow{OverflowTokens: 262_144, OverflowAt: 7}, Window{200_000, schema.LimitCatalogue, 0}},
		{"overflow where nobody knows", catalogue(0, 0), models.WindowRow{OverflowTokens: 8_192, OverflowAt: 7}, Window{8_192, schema.LimitOverflow, 7}},
		{
			"a larger prompt was accepted", catalogue(200_000, 0),
			models.WindowRow{OverflowTokens: 131_072, OverflowAt: 7, AcceptedTokens: 131_073, AcceptedAt: 9},
			Window{200_000, schema.LimitCatalogue, 0},
		},
		{
			"a prompt of that size was accepted", catalogue(200_000, 0),
			models.WindowRow{OverflowTokens: 131_072, OverflowAt: 7, AcceptedTokens: 131_072, AcceptedAt: 9},
			Window{131_072, schema.LimitOverflow, 7},
		},
		{"usage below the catalogue", catalogue(200_000, 0), models.WindowRow{AcceptedTokens: 190_000, AcceptedAt: 9}, Window{200_000, schema.LimitCatalogue, 0}},
		{"usage beyond the catalogue", catalogue(200_000, 0), models.WindowRow{AcceptedTokens: 260_000, AcceptedAt: 9}, Window{260_000, schema.LimitUsage, 9}},
		{"usage where nobody knows", catalogue(0, 0), models.WindowRow{AcceptedTokens: 100_000, AcceptedAt: 9}, Window{0, schema.LimitDefault, 0}},
		{"usage beyond the assumption", catalogue(0, 0), models.WindowRow{AcceptedTokens: 128_001, AcceptedAt: 9}, Window{128_001, schema.LimitUsage, 9}},
		{"usage beyond reason", catalogue(200_000, 0), models.WindowRow{AcceptedTokens: 10_000_001, AcceptedAt: 9}, Window{200_000, schema.LimitCatalogue, 0}},
	} {
		if got := believe(PromptLimit(test.catalogue), test.use); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestTimeInTheFutureCountsAsTheEarlierOne(t *testing.T) {
	const now = 100
	for _, test := range []struct {
		a, b int64
		want bool
	}{{2, 1, true}, {1, 2, false}, {1, 1, false}, {100, 99, true}, {101, 99, false}, {99, 101, true}, {102, 101, true}, {101, 102, false}, {101, 101, false}, {1, 0, true}} {
		if got := IsLater(test.a, test.b, now); got != test.want {
			t.Errorf("%d after %d at %d: %t", test.a, test.b, now, got)
		}
	}
}
