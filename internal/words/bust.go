package words

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
)

const readSummaries = "/ctx-menu summaries shows the summaries and the messages."

// Recourse says how the user finds the content that a bust has taken out of the prompt, or returns "". The user can bring
// dropped pieces back, but can only read summarised messages.
func Recourse(isDropped, isSummarised bool) string {
	var ways []string
	if isDropped {
		ways = append(ways, "/ctx-menu taken brings dropped pieces back.")
	}
	if isSummarised {
		ways = append(ways, readSummaries)
	}
	return strings.Join(ways, " ")
}

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
