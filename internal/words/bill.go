package words

import (
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// All bills of a session include the prompts and the runs of the historian. But they do not include everything that the
// user pays. A status adds up what the provider has reported, without the model's answers. A replay leaves out the
// answers and the definitions of tools.

// NotBilled names the costs that the bill of a replay does not include.
const NotBilled = "the model's answers and the definitions of tools"

// Spent describes the bill in a status, for example "about $3.20 on prompts, $0.25 of it on summaries, without
// answers".
func Spent(s *schema.Saving) string {
	if s == nil || s.Spent <= 0 {
		return ""
	}
	text := format.AboutDollars(s.Spent) + " on prompts"
	if s.Historian > 0 {
		text += ", " + format.Dollars(s.Historian) + " of it on summaries"
	}
	return text + ", without answers"
}

// OfHistorian returns the historian's part of a bill in brackets, for example " (of it $0.09 for the historian)". If
// the historian has cost nothing, it returns "".
func OfHistorian(cost float64) string {
	if cost <= 0 {
		return ""
	}
	return " (of it " + format.Money(cost) + " for the historian)"
}
