package promptcache

import "github.com/magicctx/magicctx-host/schema"

// Providers quote prices per million tokens.
const tokensPerPrice = 1e6

// Bill returns the cost of t at the prices p. Some models have higher prices for prompts above a certain size (the
// cliff). For such a model, the caller passes the result of Tokens.Billed instead of the plain counts. A token that is
// written to the cache costs only the write price, and not the fresh price as well.
func Bill(t Tokens, p schema.Price) float64 {
	return (float64(t.Fresh)*p.Fresh +
		float64(t.Write)*p.Write +
		float64(t.Read)*p.Read +
		float64(t.Output)*p.Output) / tokensPerPrice
}
