package words

import (
	"fmt"
	"math"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

const mostPasses = 999

// Price describes the cost and the gain of a bust, for example "re-sends 12.9k, removes 9.8k, pays off in 3 requests,
// about 41 to come". In this example, the session will probably send 41 more requests before it must free space at any
// cost.
//
// For a bust for rent, Price also compares the rent with the cost of the bust. It gives both as the number of tokens
// that could be read from the cache for this money. After a lump, the rent includes the rent that is expected until the
// next lump.
func Price(b schema.BustPrice) string {
	text := fmt.Sprintf("re-sends %s, removes %s", format.Tokens(b.Resent), format.Tokens(b.Removed))
	n := math.Ceil(b.BreakEven)
	switch {
	case b.Removed < 0: // the new summaries are longer than what they replace
		return fmt.Sprintf("re-sends %s, adds %s, never pays off", format.Tokens(b.Resent), format.Tokens(-b.Removed))
	case b.Removed == 0:
		return text + ", never pays off"
	case n <= 0:
		text += ", pays off at once"
	case n > mostPasses:
		text += fmt.Sprintf(", pays off in %d+ requests, about %d to come", mostPasses, b.Forecast)
	default:
		text += fmt.Sprintf(", pays off in %s, about %d to come", format.Count(int(n), "request"), b.Forecast)
	}
	if b.Rent > 0 {
		text += fmt.Sprintf("; in tokens read from the cache, carrying it costs %s, and the bust %s", format.Tokens(b.Rent), format.Tokens(b.Cost))
	}
	return text
}
