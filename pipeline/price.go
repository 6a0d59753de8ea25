package pipeline

import "github.com/magicctx/magicctx-host/schema"

// breakEven returns the number of passes after which a bust has paid for itself: (w−r)/r · S/D − 1. Here w is the price
// of writing a token to the cache, and r the price of reading it. S is resent and D is removed, both in tokens.
func breakEven(p schema.Price, resent, removed int) float64 {
	if removed <= 0 || p.Read <= 0 {
		return 0
	}
	return (p.Write-p.Read)/p.Read*float64(resent)/float64(removed) - 1
}

// shortSession is the minimum of ExpectedPasses. One turn of a coding agent has about this many passes.
const shortSession = 20

// ExpectedPasses estimates how many more passes a session will have. It assumes that the session is half over, so it
// returns the number of passes so far.
func ExpectedPasses(passes int) int { return max(shortSession, passes) }

type bust struct {
	// edited is the number of tokens that the bust's edits remove.
	firstMessage, edited int
	head                 headChange
	// `current` is the size of the prompt, and forcedAt is the size at which the next bust is expected. Both are in
	// tokens.
	current, forcedAt int
	breakpoints       int
}

// firstChanged returns the index of the first message that the bust changes. If the head changes, it returns 0, because
// the head comes before all messages.
func (b bust) firstChanged() int {
	if b.head.head != nil {
		return 0
	}
	return b.firstMessage
}

// price estimates the cost and the gain of a bust. On a route with breakpoints, the provider looks for a cached prefix
// only a few blocks before each breakpoint (docs/cache-routes.md). The breakpoints are on the system prompt, on the
// acknowledgement of the head, and on the newest messages. So if a bust changes an older message, the provider reads
// only the system prompt and the baseline from the cache.
func (s *Session) price(b bust, r Readings) schema.BustPrice {
	from, resent, removed := max(b.firstMessage, b.head.covered), b.head.resent-b.edited, b.edited+b.head.freed
	switch lookback := r.Route.Lookback; {
	case b.head.head != nil:
		from = b.head.covered
	case b.breakpoints > 0 && lookback > 0 && len(s.entries)-from > lookback:
		from = b.head.covered // the provider finds no cached prefix between the head's breakpoint and the change
		resent += s.State.Head.DeltaTokens
	}
	for i := from; i < len(s.entries); i++ {
		resent += s.tokensOf(&s.entries[i])
	}
	price := schema.BustPrice{Resent: max(0, resent), Removed: removed, Thinking: s.boundThinking(b.firstChanged())}
	price.BreakEven = breakEven(r.Price, price.Resent+price.Thinking, removed)
	left := b.forcedAt - b.current
	if b.head.head != nil {
		left += b.head.freed // the summary has to be shown sometime anyway, so the space that it frees delays the next bust
	}
	price.Forecast = min(ExpectedPasses(s.Meta.Passes), max(0, left)/s.Growth())
	return price
}
