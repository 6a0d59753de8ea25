package pipeline

import "github.com/magicctx/magicctx-host/schema"

// A BustPrice says what a bust of ours costs and gains.
type BustPrice struct {
	// Resent is the tokens behind the first changed byte, which are written to
	// the provider's cache again; Removed those that are not sent any more.
	Resent, Removed int
	// BreakEven is the number of passes after which what is no longer read has
	// paid for what was written again; Forecast how many passes the session is
	// expected to have before it must free space whatever it costs.
	BreakEven float64
	Forecast  int
}

// breakEven returns after how many passes removing tokens has paid off: at w a
// token written and r a token read, n = (w−r)/r · S/D − 1 (S resent, D removed).
func breakEven(p schema.Price, resent, removed int) float64 {
	if removed <= 0 || p.Read <= 0 {
		return 0
	}
	return (p.Write-p.Read)/p.Read*float64(resent)/float64(removed) - 1
}

// PaysOff reports whether the bust is expected to be cheaper than waiting.
func (b BustPrice) PaysOff() bool { return b.Removed > 0 && b.BreakEven <= float64(b.Forecast) }

// shortSession is how many more passes a session is expected to have at least:
// a turn of a coding agent has about as many steps.
const shortSession = 20

// lookbackBlocks is how far before a breakpoint a provider with breakpoints
// still finds a cached prefix (Anthropic documents 20 blocks). The harness sets
// its breakpoints on the system prompt and the newest messages only.
const lookbackBlocks = 20

// price prices a bust whose first changed message is at first and that takes
// removed tokens away. Forced is the size in tokens at which space is freed
// whatever it costs.
func (s *Session) price(r Readings, breakpoints, first, removed, current, forced int) BustPrice {
	from := first
	if breakpoints > 0 && len(s.entries)-first > lookbackBlocks {
		from = 0 // nothing between the system prompt and the change is found again
	}
	resent := -removed
	for i := from; i < len(s.entries); i++ {
		resent += s.tokensOf(&s.entries[i])
	}
	b := BustPrice{Resent: max(0, resent), Removed: removed}
	b.BreakEven = breakEven(r.Price, b.Resent, removed)
	// A session is expected to last as long as it has lasted.
	b.Forecast = min(max(shortSession, s.Meta.Passes), max(0, forced-current)/s.growth())
	return b
}
