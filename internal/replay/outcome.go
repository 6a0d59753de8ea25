package replay

// An Outcome is the real cost and gain of a bust up to the end of the trace, as the simulated provider bills them.
// The bust's Price is only the pass's estimate.
type Outcome struct {
	// Resent counts the tokens that the provider could not read from its cache because of the bust. Removed counts
	// the tokens by which the bust shortened the prompt.
	Resent  int `json:"resentTokens"`
	Removed int `json:"removedTokens"`
	// Cost is the price of the resent tokens, minus the price of reading them from the cache. Gain is what it would
	// have cost to send the removed tokens with the bust's request and with all later requests. Both are relative to
	// the unmodified session. So the sum of Gain minus Cost over all busts is about the difference between the bill of
	// the unmodified session and the bill with magicctx.
	Cost float64 `json:"cost"`
	Gain float64 `json:"gain"`
	// PaidOffAt is the pass at which Gain reaches Cost, or 0.
	PaidOffAt int `json:"paidOffAt,omitzero"`
	// NeededAt is the first pass whose prompt would have exceeded the window without the bust, or 0.
	NeededAt int `json:"neededAt,omitzero"`
}

func outcomesOf(passes []*Pass, unseen int) map[*Pass]Outcome {
	bySession := make(map[string][]*Pass)
	for _, p := range passes {
		bySession[p.Session] = append(bySession[p.Session], p)
	}
	all := make(map[*Pass]Outcome)
	for _, session := range bySession {
		followBusts(session, unseen, all)
	}
	return all
}

type stay struct {
	// share is the share of the removed tokens that is still missing from the prompt.
	share float64
	// saved is the total, in $, that a token saves from the first pass to this pass if none of these prompts contains
	// it. So the difference between two passes is the saving of a token that was removed between them.
	saved float64
}

func followBusts(session []*Pass, unseen int, all map[*Pass]Outcome) {
	stays := make([]stay, len(session))
	removed, saved := 0, 0.0
	for i, p := range session {
		if p.Bust && i > 0 {
			o := bustBetween(session[i-1], p)
			all[p], removed = o, removed+o.Removed
		}
		// The harness itself may remove content that a bust has already removed, for example in a revert. The busts
		// then no longer save that content, so only a share of the removed tokens still counts.
		share := 1.0
		if missing := max(0, p.Raw.Prompt()-p.Tokens.Prompt()); removed > missing {
			share = float64(missing) / float64(removed)
		}
		price := p.price.Read
		if p.Raw.Read <= p.Sources.System {
			price = anew(p) // the unmodified session would also have lost its prefix here, for example after a pause
		}
		saved += share * price / tokensPerPrice
		stays[i] = stay{share, saved}
	}
	for i, p := range session {
		if o, ok := all[p]; ok {
			o.follow(session[i:], stays[i:], stays[i-1].saved, unseen)
			all[p] = o
		}
	}
}

// bustBetween computes the outcome of a bust from the bust's request and the request before it. If the prefix of the
// unmodified session is cached, its request writes only the tokens that are new at this pass. All tokens that our
// request writes beyond that are a cost of the bust.
func bustBetween(before, bust *Pass) Outcome {
	grown := bust.Raw.Prompt() - before.Raw.Prompt()
	o := Outcome{
		Resent:  max(0, bust.Tokens.Write+bust.Tokens.Fresh-bust.Raw.Write-bust.Raw.Fresh),
		Removed: max(0, before.Tokens.Prompt()+grown-bust.Tokens.Prompt()),
	}
	o.Cost = money(o.Resent, anew(bust)-bust.price.Read)
	return o
}

// follow finds out whether and when the bust pays off. `before` is stay.saved at the pass before the bust. The removed
// tokens were still in the prompt then, so follow subtracts it.
func (o *Outcome) follow(passes []*Pass, stays []stay, before float64, unseen int) {
	for i, p := range passes {
		o.Gain = float64(o.Removed) * (stays[i].saved - before)
		if o.PaidOffAt == 0 && o.Gain >= o.Cost {
			o.PaidOffAt = p.Pass
		}
		left := int(stays[i].share * float64(o.Removed))
		if o.NeededAt == 0 && p.WindowTokens > 0 && p.Tokens.Prompt()+unseen+left > p.WindowTokens {
			o.NeededAt = p.Pass
		}
	}
}

const tokensPerPrice = 1e6

func money(tokens int, price float64) float64 {
	return float64(tokens) * max(0, price) / tokensPerPrice
}

func anew(p *Pass) float64 {
	if p.Tokens.Write > p.Tokens.Fresh {
		return p.price.Write
	}
	return p.price.Fresh
}
