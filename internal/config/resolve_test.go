package config

import (
	"math"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

type byModel = map[string]float64

func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		name            string
		percentages     byModel
		tokens          byModel
		provider, model string
		limit           int
		want            float64
		mode            string
	}{
		// The original plugin defines these cases.
		{"above the cap", byModel{"default": 90}, nil, "a", "b", 0, 80, ModePercentage},
		{"base model with provider", byModel{"default": 65, "openai/gpt-5.4": 40}, nil, "openai", "gpt-5.4-fast", 0, 40, ModePercentage},
		{"exact model", byModel{"default": 70, "gpt-5.4-fast": 31}, nil, "openai", "gpt-5.4-fast", 0, 31, ModePercentage},
		{"no match and no default", byModel{"x": 1}, nil, "a", "b", 0, 65, ModePercentage},
		{"tokens", byModel{"default": 65}, byModel{"default": 100000}, "a", "m", 200000, 50, ModeTokens},
		{"tokens above the cap", byModel{"default": 65}, byModel{"m": 190000}, "a", "m", 200000, 80, ModeTokens},
		// These results were measured with the original plugin.
		{"slash in the id", byModel{"default": 65, "x-ai/grok": 40}, nil, "openrouter", "x-ai/grok-4", 0, 40, ModePercentage},
		{"odd share", nil, byModel{"default": 128000}, "a", "m", 907788, 128000.0 / 907788 * 100, ModeTokens},
		{"unknown limit", byModel{"default": 60}, byModel{"m": 190000}, "a", "m", 0, 60, ModePercentage},
		{"exact before base", byModel{"p/a-b": 30, "p/a": 40, "a-b": 50}, nil, "p", "a-b", 0, 30, ModePercentage},
		{"bare exact before base with provider", byModel{"p/a": 40, "a-b": 50}, nil, "p", "a-b", 0, 50, ModePercentage},
		{"a leading dash is no segment", byModel{"": 40}, nil, "", "-a", 0, 65, ModePercentage},
		{"no provider", byModel{"m": 33}, nil, "", "m", 0, 33, ModePercentage},
		{"tokens without match", byModel{"default": 60}, byModel{"other": 9000}, "a", "m", 200000, 60, ModePercentage},
		{"tokens of nothing", byModel{"default": 60}, byModel{"m": 0}, "a", "m", 200000, 60, ModePercentage},
		{"infinite tokens", nil, byModel{"m": math.Inf(1)}, "a", "m", 200000, 65, ModePercentage},
		{"not a number", byModel{"m": math.NaN()}, nil, "a", "m", 0, 65, ModePercentage},
		{"negative", byModel{"m": -1}, nil, "a", "m", 0, 65, ModePercentage},
		{"empty configuration", nil, nil, "", "", 0, 65, ModePercentage},
	} {
		cfg := schema.Config{ExecuteThresholdPercentage: c.percentages, ExecuteThresholdTokens: c.tokens}
		got, mode := Threshold(cfg, c.provider, c.model, c.limit)
		if math.Abs(got-c.want) > 1e-9 || mode != c.mode {
			t.Errorf("%s: Threshold = %v %s, want %v %s", c.name, got, mode, c.want, c.mode)
		}
	}
}

func TestCacheTTL(t *testing.T) {
	const auto = time.Duration(-1)
	for _, c := range []struct {
		values          map[string]string
		provider, model string
		want            time.Duration
	}{
		{map[string]string{"default": "5m"}, "a", "b", 5 * time.Minute},
		{map[string]string{"default": "59m", "a/b": "1h"}, "a", "b", time.Hour},
		{map[string]string{"default": "59m", "b": "30s"}, "a", "b", 30 * time.Second},
		{map[string]string{"b": "1s", "a/b": "2s"}, "a", "b", 2 * time.Second},
		{map[string]string{"claude-sonnet": "1h"}, "anthropic", "claude-sonnet-4-6", auto}, // the lookup of a cache time never cuts segments off the model's id
		{nil, "a", "b", auto},
		{Default().CacheTTL, "a", "b", auto},
		{map[string]string{"default": "auto"}, "a", "b", auto},
		{map[string]string{"default": "1h", "a/b": "auto"}, "a", "b", auto},
		{map[string]string{"default": "auto", "a/b": "1h"}, "a", "b", time.Hour},
		{map[string]string{"default": " 2000 "}, "a", "b", 2 * time.Second},
		{map[string]string{"default": "0"}, "a", "b", 0},
		{map[string]string{"default": "1H"}, "a", "b", auto},
		{map[string]string{"default": "1 h"}, "a", "b", auto},
		{map[string]string{"default": "-1s"}, "a", "b", auto},
		{map[string]string{"default": "+1s"}, "a", "b", auto},
		{map[string]string{"default": "m"}, "a", "b", auto},
		{map[string]string{"default": ""}, "a", "b", auto},
		{map[string]string{"default": "1.5h"}, "a", "b", auto},
		{map[string]string{"default": "bogus"}, "a", "b", auto},
		{map[string]string{"default": "99999999999999h"}, "a", "b", auto},
		{map[string]string{"default": "1h", "a/b": "bogus"}, "a", "b", auto},
	} {
		got := auto
		if ttl := CacheTTL(schema.Config{CacheTTL: c.values}, c.provider, c.model); ttl != nil {
			got = *ttl
		}
		if got != c.want {
			t.Errorf("%v: CacheTTL(%s/%s) = %v, want %v", c.values, c.provider, c.model, got, c.want)
		}
	}
}

func TestPriceCliff(t *testing.T) {
	type cliff struct {
		above  int
		factor float64
		isSet  bool
	}
	for _, c := range []struct {
		values map[string]string
		want   cliff
	}{
		{map[string]string{"default": "272000x2"}, cliff{272_000, 2, true}},
		{map[string]string{"default": "272000x2", "b": "1x1.5"}, cliff{1, 1.5, true}},
		{map[string]string{"b": "272000x2", "a/b": "none"}, cliff{0, 1, true}},
		{map[string]string{"default": "272000x2", "a/b": "auto"}, cliff{}},
		{map[string]string{"default": "99999999999999999999x2"}, cliff{math.MaxInt, 2, true}}, // no prompt is so large
		{Default().PriceCliff, cliff{}},
		{nil, cliff{}},
	} {
		var got cliff
		if got.above, got.factor, got.isSet = PriceCliff(schema.Config{PriceCliff: c.values}, "a", "b"); got.isSet != c.want.isSet || got.isSet && got != c.want {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
}
