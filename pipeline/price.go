package pipeline

import "github.com/magicctx/magicctx-host/schema"

// breakEven returns the number of passes after which a bust has paid off: (w−r)/r · S/D − 1. Writing a token costs w,
// and reading a token costs r; S tokens are resent, and D tokens are removed.
func breakEven(p schema.Price, resent, removed int) float64 {
	if removed <= 0 || p.Read <= 0 {
		return 0
	}
	return (p.Write-p.Read)/p.Read*float64(resent)/float64(removed) - 1
}

// shortSession is the least number of further passes that is expected of a session. A turn of a coding agent has about
// as many steps.
const shortSession = 20

// ExpectedPasses returns the number of further passes that is expected of a session after the given number of passes.
// The estimate is that a session is now half way.
func ExpectedPasses(passes int) int { return max(shortSession, passes) }

type bust struct {
	// edited is the number of tokens that the bust's edits remove.
	firstMessage, edited int
	head                 headChange
	// current is the size of the prompt, in tokens. Above forcedAt tokens, space is freed regardless of the cost.
	current, forcedAt int
	breakpoints       int
}

// A change of the head affects all messages, because the head precedes them.
func (b bust) firstChanged() int {
	if b.head.head != nil {
		return 0
	}
	return b.firstMessage
}

// On a route with breakpoints, the provider looks for a cached prefix only in some blocks before each breakpoint
// (docs/cache-routes.md). Breakpoints are only on the system prompt and the newest messages. If a bust changes an
// earlier message, the provider reads only the system prompt from the cache. If there is a head, it also reads the
// baseline, because the acknowledgement has a breakpoint.
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
		left += b.head.freed // the summary has to be shown sooner or later, so the space that it frees delays the next bust
	}
	price.Forecast = min(ExpectedPasses(s.Meta.Passes), max(0, left)/s.Growth())
	return price
}
