package replay

// Prompts compares the sizes of the prompts with the window, in tokens.
type Prompts struct {
	// Window is the size of the window. It is 0 if the window is unknown or changes within the trace.
	Window int `json:"windowTokens"`
	// Largest is the largest prompt that was sent. RawLargest is the largest prompt without magicctx. Both sizes leave
	// out the tokens that a trace does not show, mainly the definitions of tools. Unseen is the number of these tokens.
	Largest    int `json:"largestTokens"`
	RawLargest int `json:"rawLargestTokens"`
	Unseen     int `json:"unseenTokens"`
	// RawRefusedAt is the first pass at which the provider would have refused the unmodified prompt, because it exceeds
	// the window. It is 0 if there is no such pass. Unseen tokens are not counted, so a real refusal may come earlier.
	//
	// The recorded provider may have accepted a prompt that exceeded the window, for example by 100 tokens. From then
	// on, an unmodified prompt counts as refused only if it exceeds the window by more than that.
	RawRefusedAt int `json:"rawRefusedAt,omitzero"`
}

// An Overflow is a prompt that exceeds the window, so that the provider would refuse it.
type Overflow struct {
	Pass int `json:"pass"`
	// Prompt includes the tokens that the trace does not show.
	Prompt int `json:"promptTokens"`
	Window int `json:"windowTokens"`
}

// promptsOf must not make magicctx look better than it is. So it adds the unseen tokens to the prompts that magicctx
// has changed, but not to the unmodified prompts.
func promptsOf(passes []*Pass, unseen int) (Prompts, []Overflow) {
	sizes, overflows := Prompts{Unseen: unseen}, []Overflow{}
	excess := 0 // the largest amount by which an accepted prompt has exceeded its window so far
	for i, p := range passes {
		own, raw := p.Tokens.Prompt(), p.Raw.Prompt()
		sizes.Largest, sizes.RawLargest = max(sizes.Largest, own), max(sizes.RawLargest, raw)
		if i == 0 {
			sizes.Window = p.WindowTokens
		} else if sizes.Window != p.WindowTokens {
			sizes.Window = 0
		}
		if p.WindowTokens == 0 {
			continue
		}
		if own+unseen > p.WindowTokens && !p.isAccepted {
			overflows = append(overflows, Overflow{p.Pass, own + unseen, p.WindowTokens})
		}
		if p.isAccepted {
			excess = max(excess, own-p.WindowTokens)
		}
		if raw > p.WindowTokens+excess && sizes.RawRefusedAt == 0 {
			sizes.RawRefusedAt = p.Pass
		}
	}
	return sizes, overflows
}
