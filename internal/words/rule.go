package words

import (
	"cmp"

	"github.com/magicctx/magicctx-host/internal/format"
)

var rules = map[string]string{
	"queued drops":           "The model had marked it as no longer needed.",
	"stale ctx_reduce calls": "It only marked other pieces.",
	"duplicate calls":        "A later identical call shows the same.",
	"superseded writes":      "The file was read or written again since.",
	"old errors":             "An old call that failed; its error stays.",
	"processed images":       "An image that the model has already answered.",
	"injected blocks":        "A reminder that the harness or a plugin had put into the text.",
	"old reasoning":          "Old thinking.",
	"old text":               "An old text: it lost the words that only serve its grammar.",
	"tool reclaim":           "Old tool output, the oldest first, until there was enough room.",
	"old skeletons":          "What was left of an old call.",
	"tiered drop":            "Tool output, because the prompt was at 85% of the window or more.",
	"spent narration":        "A text of the model beside calls that were taken away.",
	"protected results":      "Tool output, because the next request might not have fitted.",
	"oldest texts":           "One of the oldest texts, because the next request might not have fitted.",
	"unfit content":          "It was so large that the request did not fit.",
	"spent reasoning":        "Thinking of an answer of which nothing else is left.",
	"empty shells":           "A message of the model of which nothing is left.",
}

// kinds says why a piece has changed, by the kind of its edit, for edits that name no rule.
var kinds = map[string]string{
	"":         "It belongs to a piece that was taken away.",
	"compress": rules["old text"],
	"unthink":  rules["old reasoning"],
	"shell":    rules["empty shells"],
	"strip":    rules["injected blocks"],
}

// RuleName names a rule in few words, for example "marked by the model" for the rule "queued drops".
func RuleName(rule string) string {
	switch rule {
	case "queued drops":
		return "marked by the model"
	case "tool reclaim":
		return "old tool output"
	}
	return format.Clean(rule)
}

// Rule says why an edit of a piece was made, for example "A later identical call shows the same." for the rule
// "duplicate calls".
func Rule(kind, rule string) string {
	return cmp.Or(rules[rule], kinds[kind], "Rule: "+format.Clean(rule))
}
