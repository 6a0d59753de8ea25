package format

import "fmt"

// Regret says how much of the removed content was soon read again by the model, for example "900 of
// 60k removed tokens (1.5%), for less than $0.01". The cost is left out if it is 0.
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
