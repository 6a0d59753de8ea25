package promptcache

import "github.com/magicctx/magicctx-host/schema"

// tokensPerPrice is the unit of a price list: providers quote per million tokens.
const tokensPerPrice = 1e6

// Bill returns what t costs at p, in the currency of p. The price of a token
// that is both fresh and remembered is the write price, not the sum of both.
func Bill(t Tokens, p schema.Price) float64 {
	return (float64(t.Fresh)*p.Fresh +
		float64(t.Write)*p.Write +
		float64(t.Read)*p.Read +
		float64(t.Output)*p.Output) / tokensPerPrice
}
