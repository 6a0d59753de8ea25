package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// What decided a threshold.
const (
	ModePercentage = "percentage"
	ModeTokens     = "tokens"
)

const (
	defaultThreshold = 65
	// maxThreshold leaves no zone between the threshold and the force level
	// (85 %) in which rules could run on a pass that is otherwise still.
	maxThreshold = 80
	defaultTTL   = 5 * time.Minute
)

// Threshold returns the share of the window, in percent (at most 80), at which
// a session with this model folds history, and which key decided it:
// ModeTokens or ModePercentage. limitTokens is the model's window, 0 if
// unknown; thresholds in tokens need it.
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

// ofModel looks up "provider/model" and "model", then both again with the
// last -segment of the model cut off, until none is left: the key of a base model
// covers its derived ids ("-fast"). Then "default".
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

// CacheTTL returns how long the provider keeps the cached prompt of the model: the value of
// "provider/model", "model" or "default", without cutting the id; 5 minutes if there is none or it is invalid.
func CacheTTL(cfg schema.Config, provider, model string) time.Duration {
	for _, key := range append(keysOf(provider, model), "default") {
		if text, ok := cfg.CacheTTL[key]; ok {
			return parseTTL(text)
		}
	}
	return defaultTTL
}

// parseTTL reads digits and s, m or h; bare digits are milliseconds. "0" is
// legal and lets every pass execute.
func parseTTL(text string) time.Duration {
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
		return defaultTTL
	}
	return time.Duration(n) * unit
}
