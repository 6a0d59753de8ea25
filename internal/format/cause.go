package format

import "cmp"

// causes names in a few words why a bust was made, or why a request was sent without one.
var causes = map[string]string{
	"pressure":           "threshold",
	"force":              "85% full",
	"overflow":           "prompt refused",
	"rent":               "saves money",
	"idle":               "after a pause",
	"model-changed":      "new model",
	"preamble-changed":   "tools or prompt",
	"system-changed":     "system prompt",
	"transcript-changed": "harness's change",
	"head-reverted":      "taken back",
	"flush":              "asked for",
	"unexplained":        "unknown reason",
	"first-pass":         "first request",
	"mid-turn":           "inside a turn",
	"nothing-to-do":      "nothing to free",
	"no-progress":        "nothing more to free",
	"not-worth-it":       "not worth it yet",
	"invalid-wire":       "rule of the provider",
	"busy":               "database locked",
}

// Cause returns the words for a cause of the host, for example "after a pause" for "idle". It returns the cause
// itself if a newer host has named it.
func Cause(code string) string { return cmp.Or(causes[code], Clean(code)) }
