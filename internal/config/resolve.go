package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// The modes name the key that decided a threshold.
const (
	ModePercentage = "percentage"
	ModeTokens     = "tokens"
)

const (
	defaultThreshold = 65
	// maxThreshold is below the force level (85 %). With a threshold of 90 %, a pass at 87 % would bust because of
	// the force level, before it reaches the threshold.
	maxThreshold = 80
)

// Threshold returns the share of the window, in percent (at most 80), at which a pass of this model may bust. `mode` is
// ModeTokens or ModePercentage. If limitTokens is 0 (unknown), a threshold in tokens has no effect.
func Threshold(cfg schema.Config, provider, model string, limitTokens int) (percent float64, mode string) {
	limit := float64(limitTokens)
	if tokens, ok := ofModel(cfg.ExecuteThresholdTokens, provider, model); ok && isPositive(tokens) && limit > 0 {
		return min(tokens/limit*100, maxThreshold), ModeTokens
	}
	percent, ok := ofModel(cfg.ExecuteThresholdPercentage, provider, model)
	if !ok || math.IsNaN(percent) || math.IsInf(percent, 0) || percent < 0 {
		percent = defaultThreshold
	}
	return min(percent, maxThreshold), ModePercentage
}

func isPositive(n float64) bool { return n > 0 && !math.IsInf(n, 1) }

// ofModel tries the keys "provider/model" and then "model". If both are missing, it cuts the model's name at its last
// hyphen and tries again. So the key "gpt-5" also covers "gpt-5-fast". If no key fits, ofModel uses the key "default".
func ofModel(values map[string]float64, provider, model string) (float64, bool) {
	for id := model; ; {
		for _, key := range keysOf(provider, id) {
			if value, ok := values[key]; ok {
				return value, true
			}
		}
		dash := strings.LastIndexByte(id, '-')
		if dash <= 0 {
			break
		}
		id = id[:dash]
	}
	value, ok := values["default"]
	return value, ok
}

func keysOf(provider, model string) []string {
	if provider == "" {
		return []string{model}
	}
	return []string{provider + "/" + model, model}
}

// CacheTTL returns the user's cache life for a model. It does not cut the model's name as ofModel does, so the key
// "gpt-5" does not cover "gpt-5-fast". If the value is "auto", missing or invalid, CacheTTL returns nil, and
// internal/route chooses the cache life.
func CacheTTL(cfg schema.Config, provider, model string) *time.Duration {
	for _, key := range append(keysOf(provider, model), "default") {
		if text, ok := cfg.CacheTTL[key]; ok {
			return parseTTL(text)
		}
	}
	return nil
}

// PriceCliff returns the user's setting: a request with more tokens than `above` costs `factor` times as much. If the
// setting is "none", `above` is 0. If it is "auto", missing or invalid, isSet is false, and internal/route chooses the
// cliff.
func PriceCliff(cfg schema.Config, provider, model string) (above int, factor float64, isSet bool) {
	for _, key := range append(keysOf(provider, model), "default") {
		text, ok := cfg.PriceCliff[key]
		if !ok {
			continue
		}
		if text == "none" {
			return 0, 1, true
		}
		size, times, _ := strings.Cut(text, "x")
		above, _ = strconv.Atoi(size) // a number that is too large gives the largest int, which no prompt reaches
		factor, err := strconv.ParseFloat(times, 64)
		return above, factor, err == nil
	}
	return 0, 0, false
}

// The result is "auto", "on" or "off".
func PreservedThinking(cfg schema.Config, provider, model string) string {
	for _, key := range append(keysOf(provider, model), "default") {
		if text, ok := cfg.PreservedThinking[key]; ok {
			return text
		}
	}
	return "auto"
}

// parseTTL reads a number with the unit s, m or h. Without a unit, the number is in milliseconds. If the cache life
// is "0", every pass is hard.
func parseTTL(text string) *time.Duration {
	text = strings.TrimSpace(text)
	unit := time.Millisecond
	switch {
	case strings.HasSuffix(text, "s"):
		unit = time.Second
	case strings.HasSuffix(text, "m"):
		unit = time.Minute
	case strings.HasSuffix(text, "h"):
		unit = time.Hour
	}
	digits := text
	if unit != time.Millisecond {
		digits = text[:len(text)-1]
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > uint64(math.MaxInt64/unit) {
		return nil
	}
	ttl := time.Duration(n) * unit
	return &ttl
}
