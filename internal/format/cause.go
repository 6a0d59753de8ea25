package format

import "cmp"

// causes has a text for each cause of a bust, of a request without a bust, and of a rewritten summary.
var causes = map[string]string{
	"pressure":           "getting full",
	"force":              "85% full",
	"overflow":           "prompt refused",
	"rent":               "saves money",
	"idle":               "after a pause",
	"model-changed":      "new model",
	"preamble-changed":   "tools or prompt",
	"system-changed":     "system prompt",
	"transcript-changed": "harness's change",
	"head-reverted":      "you went back",
	"flush":              "you asked",
	"unexplained":        "unknown reason",
	"first-pass":         "first request",
	"mid-turn":           "inside a turn",
	"nothing-to-do":      "nothing to free",
	"no-progress":        "nothing more to free",
	"not-worth-it":       "not worth it yet",
	"invalid-wire":       "rule of the provider",
	"busy":               "database locked",

	"first-head":          "first summaries",
	"reverted":            "you went back",
	"refold":              "summaries made again",
	"memory-updates":      "changed memories",
	"delta-over-budget":   "too much added",
	"delta-over-baseline": "as much added as written",
}

// Cause returns the words for a cause of the host, for example "after a pause" for "idle". A newer host may send an
// unknown cause. Cause makes it safe to print.
func Cause(code string) string { return cmp.Or(causes[code], Clean(code)) }
