package words

import (
	"cmp"

	"github.com/magicctx/magicctx-host/internal/format"
)

// A reason says why a rule has changed a piece: in few words, and in a sentence.
type reason struct{ name, text string }

var rules = map[string]reason{
	"queued drops":           {"marked by the model", "The model had marked it as no longer needed."},
	"stale ctx_reduce calls": {"marks of the model", "It only marked other pieces."},
	"duplicate calls":        {"repeated call", "A later identical call shows the same."},
	"superseded writes":      {"outdated file", "The file was read or written again since."},
	"old errors":             {"old failed call", "An old call that failed; its error stays."},
	"processed images":       {"answered image", "An image that the model has already answered."},
	"injected blocks":        {"reminder", "A reminder that the harness or a plugin had put into the text."},
	"old reasoning":          {"old thinking", "Old thinking."},
	"old text":               {"old text, shortened", "An old text: it lost the words that only serve its grammar."},
	"tool reclaim":           {"old tool output", "Old tool output, the oldest first, until there was enough room."},
	"old skeletons":          {"rest of an old call", "What was left of an old call."},
	"tiered drop":            {"tool output at 85% full", "Tool output, because the prompt was at 85% of the window or more."},
	"spent narration":        {"text beside removed calls", "A text of the model beside calls that were taken away."},
	"protected results":      {"new tool output, to fit", "Tool output, because the next request might not have fitted."},
	"oldest texts":           {"oldest text, to fit", "One of the oldest texts, because the next request might not have fitted."},
	"unfit content":          {"too large to fit", "It was so large that the request did not fit."},
	"spent reasoning":        {"thinking alone", "Thinking of an answer of which nothing else is left."},
	"empty shells":           {"empty message", "A message of the model of which nothing is left."},
}

// kinds has a reason for each kind of edit. Rule uses it for edits that name no rule.
var kinds = map[string]string{
	"":         "It belongs to a piece that was taken away.",
	"compress": rules["old text"].text,
	"unthink":  rules["old reasoning"].text,
	"shell":    rules["empty shells"].text,
	"strip":    rules["injected blocks"].text,
}

// RuleName names a rule in few words, for example "marked by the model" for the rule "queued drops". If the rule is not
// known, because a newer host has made the edit, RuleName returns the rule's own name.
func RuleName(rule string) string { return cmp.Or(rules[rule].name, format.Clean(rule)) }

// Rule says why an edit of a piece was made, for example "A later identical call shows the same." for the rule
// "duplicate calls".
func Rule(kind, rule string) string {
	return cmp.Or(rules[rule].text, kinds[kind], "Rule: "+format.Clean(rule))
}
