package frozen

// A Head holds the synthetic messages in front of the tail. They stand for the messages
// that the head covers, which no longer reach the provider themselves. The zero Head
// covers nothing and has no messages.
type Head struct {
	// Fold numbers the folds of the session. A fold renders a new baseline.
	Fold int
	// Through is the key of the newest covered message, Ordinal its ordinal.
	Through string
	Ordinal int
	// ThroughTag is the highest tag of a covered unit. Tags are given in the order of
	// the transcript, so exactly the units up to this tag are covered.
	ThroughTag int
	// Baseline, Acknowledgement and Delta are the texts of the head's messages.
	Baseline, Acknowledgement, Delta string
	// InBaseline and InDelta count the compartments that each of them shows: the
	// session's first InBaseline ones, and the InDelta ones after them.
	InBaseline, InDelta int
	// BaselineTokens includes the acknowledgement.
	BaselineTokens, DeltaTokens int
	// Sections describes the baseline to people.
	Sections HeadSections
	// DocsHash identifies the project documents in the baseline. Memories lists the ids
	// of the memories in it, for example "3,7".
	DocsHash, Memories string
	// MemoryMark is the highest id of a memory at the time of the fold, UpdateMark the
	// highest id of a memory update. The delta shows memories and updates with higher
	// ids.
	MemoryMark, UpdateMark int64
	// FoldedAt is the time of the fold in Unix milliseconds.
	FoldedAt int64
}

// HeadSections holds the sizes of the baseline's sections, in tokens.
type HeadSections struct {
	Docs, Profile, History, Memory int
	// Tiers counts the compartments at tiers 1 to 4, and the archived ones.
	Tiers [5]int
	// Covered holds the sizes of the messages that the head covers.
	Covered Covered
}

// Covered holds the sizes of the covered messages by kind, in tokens. Content that edits
// had taken off the wire before does not count.
type Covered struct {
	Text, Files, Inputs, Results int
}

// Add counts a unit, whether or not the head covers it yet.
func (c *Covered) Add(u *Unit) {
	if u.Edit != Drop {
		c.Inputs += u.InputTokens
	}
	switch {
	case u.Edit == Drop || u.Edit == Skeleton:
	case u.Kind == ToolUnit:
		c.Results += u.Tokens
	case u.Kind == FileUnit:
		c.Files += u.Tokens
	default:
		c.Text += u.Tokens
	}
}

// Tokens returns the sum.
func (c Covered) Tokens() int { return c.Text + c.Files + c.Inputs + c.Results }

// Exists reports whether the session has a head.
func (h Head) Exists() bool { return h.Baseline != "" }

// Tokens returns the size of the head's messages.
func (h Head) Tokens() int { return h.BaselineTokens + h.DeltaTokens }

// Shows counts the compartments that the head shows.
func (h Head) Shows() int { return h.InBaseline + h.InDelta }

// SetHead makes h the head of the state.
func (s *State) SetHead(h Head) {
	s.Head = h
	for i := range s.units {
		s.units[i].Covered = s.units[i].Tag <= h.ThroughTag
	}
}

// layHead shows the state as if h were its head.
func (o *Overlay) layHead(h Head) {
	o.Head = h
	for i := range o.state.units {
		u := &o.state.units[i]
		if isCovered := u.Tag <= h.ThroughTag; u.Covered != isCovered {
			shown := *u
			shown.Covered = isCovered
			o.set(shown)
		}
	}
}
