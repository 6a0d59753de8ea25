package words

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
)

// BringBack says how the user gets back what a bust has taken out of the prompt.
const BringBack = "/ctx-menu taken lists it, and brings it back."

// Shortened says how a bust changes the size of the prompt, and what it takes out, for example "39k → 12k: 14 results
// dropped." The argument `when` is " with the next request", or empty for a bust in the past.
func Shortened(cause string, from, to int, when, taken string) string {
	if !KnowsOldSize(cause) {
		return fmt.Sprintf("You went back, and the prompt now has %s tokens%s: %s.", format.Tokens(to), when, taken)
	}
	return fmt.Sprintf("%s → %s%s: %s.", format.Tokens(from), format.Tokens(to), when, taken)
}

// CostsNow names the cost of rebuilding the cache, for example "costs about $0.02 now".
func CostsNow(money float64) string {
	if money <= 0 {
		return "costs nothing"
	}
	return "costs " + format.AboutDollars(money) + " now"
}
