package words

import (
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// Each bill of a session includes its prompts and the historian's runs. A bill in a status comes from the provider's
// counts, and lacks the model's answers. A bill of a replay also lacks the definitions of tools.

// NotBilled names the parts that the bill of a replay lacks.
const NotBilled = "the model's answers and the definitions of tools"

// Spent describes the bill of a status, for example "about $3.20 on prompts, $0.25 of it on summaries, without answers".
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
