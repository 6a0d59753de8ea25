package chronicle

import "slices"

// A Compartment is a summary of the raw messages from ordinal Start to ordinal End, both included. The compartments of
// a session are contiguous and begin with message 1. Commands with --json print its JSON form.
type Compartment struct {
	// Seq numbers the compartments of a session: 0, 1, 2 and so on. The store sets it.
	Seq   int `json:"-"`
	Start int `json:"start"`
	End   int `json:"end"`
	// Keys holds the key of each message from Start to End, empty if it is unreadable.
	Keys []string `json:"-"`
	// AfterSummary is the key of the harness's own summary that the array began with when
	// the compartment was made. It is empty if the array began with the session's first message.
	AfterSummary string `json:"-"`
	Title        string `json:"title"`
	// Tiers holds the summary in four lengths, the longest first. If tier 2 or 3 is empty, the tier before it takes its
	// place. If tier 4 is empty, the title is enough.
	Tiers [4]string `json:"tiers"`
	// Importance says how long the details are worth keeping, from 1 to 100.
	Importance int `json:"importance"`
	// Episode names the kinds of work, for example "bug,release". The head does
	// not render it.
	Episode string `json:"episode,omitzero"`
	// Missing is the line of the receipt: the anchors of the raw messages that no tier contains, for example "src/a.go
	// · E1234". Fidelity is the share of the anchors that a tier contains, from 0 to 1.
	Missing  string  `json:"missing,omitzero"`
	Fidelity float64 `json:"fidelity"`
	MadeBy   MadeBy  `json:"madeBy"`
	// Model is the model that gave the accepted answer. It is empty for extractive compartments, or if the
	// harness does not name it.
	Model string `json:"model,omitzero"`
	// RawTokens is the size of the messages.
	RawTokens int `json:"rawTokens"`
	// CreatedAt is a Unix time in milliseconds. The store sets it.
	CreatedAt int64 `json:"createdAt"`
}

// MadeBy says how a compartment was made. The values go from the best way to the weakest.
type MadeBy string

const (
	ByModel      MadeBy = "model"      // the first model's first answer was valid
	ByRepair     MadeBy = "repaired"   // the first model's second answer was valid
	ByFallback   MadeBy = "fallback"   // another model's answer was valid
	ByExtraction MadeBy = "extractive" // no answer was valid
	ByHarness    MadeBy = "harness"    // the text is the harness's own summary
)

// Range returns the range of the compartment's messages.
func (c *Compartment) Range() Range { return Range{c.Start, c.End} }

// EndKey returns the key of the last readable message, or "" if there is none.
func (c *Compartment) EndKey() string { return LastKey(c.Keys) }

// LastKey returns the last key that is not empty, or "" if there is none.
func LastKey(keys []string) string {
	for _, key := range slices.Backward(keys) {
		if key != "" {
			return key
		}
	}
	return ""
}
