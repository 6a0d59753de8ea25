package format

import "fmt"

// Regret says how many of the removed tokens a model has read again, and what that has cost, for example "900 of 60k
// removed tokens (1.5%), for less than $0.01". A cost of 0 is left out.
func Regret(reread, removed int, cost float64) string {
	if removed <= 0 {
		return "nothing removed yet"
	}
	text := fmt.Sprintf("none of %s removed tokens", Tokens(removed))
	if reread > 0 {
		text = fmt.Sprintf("%s of %s removed tokens (%s)", Tokens(reread), Tokens(removed), FinePercent(float64(reread)/float64(removed)))
	}
	if reread > 0 && cost > 0 {
		text += ", for " + AboutDollars(cost)
	}
	return text
}
