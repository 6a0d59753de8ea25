package chronicle

import "slices"

// A Compartment is a summary of the raw messages from ordinal Start to ordinal End, both included. The compartments
// of a session are contiguous and begin with message 1.
type Compartment struct {
	// The store sets Seq.
	Seq   int `json:"-"`
	Start int `json:"start"`
	End   int `json:"end"`
	// Keys holds the key of each message from Start to End. The key of an unreadable message is "".
	Keys []string `json:"-"`
	// If the array began with a summary of the harness when the historian ran, AfterSummary is the key of that
	// summary. Otherwise, it is empty.
	AfterSummary string `json:"-"`
	Title        string `json:"title"`
	// Tiers holds the summary in four lengths, the longest first. If tier 2 or 3 is empty, the tier before it is
	// used instead. If tier 4 is empty, the title is used.
	Tiers [4]string `json:"tiers"`
	// Importance says from 1 to 100 how long the details are worth keeping.
	Importance int `json:"importance"`
	// Episode names the kinds of work, for example "bug,release". The head does not show it.
	Episode string `json:"episode,omitzero"`
	// Missing names the anchors that occur in the messages, but neither in the title nor in any tier, for example
	// "src/a.go · E1234". Fidelity is the share of the anchors that the summary still contains, from 0 to 1. Important
	// kinds of anchors weigh more.
	Missing  string  `json:"missing,omitzero"`
	Fidelity float64 `json:"fidelity"`
	// Rules are the lasting rules that the user has typed in the messages, for example "Always answer in French".
	Rules  []Rule `json:"rules,omitempty"`
	MadeBy MadeBy `json:"madeBy"`
	Model  string `json:"model,omitzero"`
	// RawTokens is the size of the messages.
	RawTokens int `json:"rawTokens"`
	// CreatedAt is in Unix ms. The store sets it.
	CreatedAt int64 `json:"createdAt"`
}

// A Rule is a sentence of the user that should hold for the rest of the session.
type Rule struct {
	Words   string `json:"words"`
	Message int    `json:"message"` // ordinal
	// Tiers counts the tiers that contain the rule, from the first tier on. If it is 2, tier 3 has lost the rule.
	Tiers int `json:"tiers"`
}

// MadeBy says how a compartment was made. The constants are listed from the best way to the weakest.
type MadeBy string

const (
	ByModel      MadeBy = "model"      // the first model's first answer was valid
	ByRepair     MadeBy = "repaired"   // the first model's second answer was valid
	ByFallback   MadeBy = "fallback"   // another model's answer was valid
	ByExtraction MadeBy = "extractive" // no answer was valid
	ByHarness    MadeBy = "harness"    // the text is the harness's own summary
)

func (c *Compartment) Range() Range { return Range{c.Start, c.End} }

// EndKey returns the key of the last readable message, or "" if there is none.
func (c *Compartment) EndKey() string { return LastKey(c.Keys) }

func LastKey(keys []string) string {
	for _, key := range slices.Backward(keys) {
		if key != "" {
			return key
		}
	}
	return ""
}
