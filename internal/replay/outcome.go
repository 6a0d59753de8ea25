package replay

// An Outcome is what a bust really cost and gained up to the end of the trace, by the simulated provider.
// Price is the estimate of the same at the moment of the decision.
type Outcome struct {
	// Resent is the number of tokens that the provider had to take anew because of the bust. Removed is
	// the number of tokens by which the bust has shortened the prompt.
	Resent  int `json:"resentTokens"`
	Removed int `json:"removedTokens"`
	// Cost is the money for the resent tokens, beyond the price of reading them. Gain is the money that
	// the bust's request and all later ones of the session did not spend on the removed tokens. Both
	// compare with the unmodified session, so that Gain less Cost of all busts is about the difference
	// of the two bills.
	Cost float64 `json:"cost"`
	Gain float64 `json:"gain"`
	// PaidOffAt is the pass with which Gain reaches Cost, 0 if it never does.
	PaidOffAt int `json:"paidOffAt,omitzero"`
	// NeededAt is the first pass whose prompt would exceed the window if the tokens had stayed. It is 0 if
	// all prompts would have fitted.
	NeededAt int `json:"neededAt,omitzero"`
}

// outcomesOf returns the outcome of each bust.
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

// A stay says what becomes of the removed tokens at one pass.
type stay struct {
	// share is the part of them that is still missing from the prompt.
	share float64
	// saved is the money that one removed token has saved from the first pass up to this one, in $.
	saved float64
}

// followBusts follows the busts of one session to its end.
func followBusts(session []*Pass, unseen int, all map[*Pass]Outcome) {
	stays := make([]stay, len(session))
	removed, saved := 0, 0.0
	for i, p := range session {
		if p.Bust && i > 0 {
			o := bustBetween(session[i-1], p)
			all[p], removed = o, removed+o.Removed
		}
		// The harness may take back content that was removed, for example in a revert. Then less than
		// the sum of all busts is missing from the prompt.
		share := 1.0
		if missing := max(0, p.Raw.Prompt()-p.Tokens.Prompt()); removed > missing {
			share = float64(missing) / float64(removed)
		}
		price := p.price.Read
		if p.Raw.Read <= p.Sources.System {
			price = anew(p) // the unmodified session has lost its prefix too, for example after a pause
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

// bustBetween compares a bust with the pass before it. The unmodified session at the same pass shows the
// new tokens: its prompt grows by them, and it takes only them anew if its cache is alive.
func bustBetween(before, bust *Pass) Outcome {
	grown := bust.Raw.Prompt() - before.Raw.Prompt()
	o := Outcome{
		Resent:  max(0, bust.Tokens.Write+bust.Tokens.Fresh-bust.Raw.Write-bust.Raw.Fresh),
		Removed: max(0, before.Tokens.Prompt()+grown-bust.Tokens.Prompt()),
	}
	o.Cost = money(o.Resent, anew(bust)-bust.price.Read)
	return o
}

// follow follows a bust from its own pass to the end of the session. Before is what a token had saved
// before the bust.
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

// tokensPerPrice is the number of tokens for which providers quote prices.
const tokensPerPrice = 1e6

func money(tokens int, price float64) float64 {
	return float64(tokens) * max(0, price) / tokensPerPrice
}

// anew returns the price of a token that the provider has not cached.
func anew(p *Pass) float64 {
	if p.Tokens.Write > p.Tokens.Fresh {
		return p.price.Write
	}
	return p.price.Fresh
}
