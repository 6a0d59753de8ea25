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
	// maxThreshold is below the force level (85 %). If a threshold were above that level, rules could run on a pass
	// between the two, although that pass is meant to be steady.
	maxThreshold = 80
)

// Threshold returns the share of the window, in percent (at most 80), at which a pass of this model may bust. mode
// names the key that decided it: ModeTokens or ModePercentage. limitTokens is the model's window, or 0 if it is
// unknown. Then a threshold in tokens has no effect.
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

// ofModel looks up "provider/model" and "model". If neither is there, it cuts the last -segment off the model
// and tries both again, until no segment is left. So the key of a base model also covers ids derived from it:
// for example, "gpt-5" covers "gpt-5-fast". If no key fits, "default" counts.
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

// CacheTTL returns how long, according to the user, the provider keeps an unused prompt of the model.
// It takes the value of "provider/model", "model" or "default" and, unlike Threshold, tries no shorter ids. The
// result is nil if that value is "auto", missing or invalid. Then the route of the model decides.
func CacheTTL(cfg schema.Config, provider, model string) *time.Duration {
	for _, key := range append(keysOf(provider, model), "default") {
		if text, ok := cfg.CacheTTL[key]; ok {
			return parseTTL(text)
		}
	}
	return nil
}

// PriceCliff returns the size in tokens above which, according to the user, a request to the model costs
// factor times as much. isSet is false if the value is "auto", missing or invalid. Then the route of the
// model decides. For "none", above is 0.
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

// PreservedThinking returns the setting for the model: "auto", "on" or "off".
func PreservedThinking(cfg schema.Config, provider, model string) string {
	for _, key := range append(keysOf(provider, model), "default") {
		if text, ok := cfg.PreservedThinking[key]; ok {
			return text
		}
	}
	return "auto"
}

// parseTTL reads digits followed by s, m or h. Digits alone are milliseconds. "0" is allowed, and makes
// every pass a hard one.
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
