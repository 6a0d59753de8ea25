package frozen

import "slices"

// A Head holds the messages that replace the oldest messages of a session. None of the replaced messages is sent,
// except pinned prompts. The zero Head replaces nothing.
type Head struct {
	// Fold is the number of the fold that made the baseline. A session's folds are numbered in order.
	Fold int
	// Through is the key of the newest covered message, and Ordinal is its ordinal. A head without compartments
	// covers nothing, and its ordinal is 0.
	Through string
	Ordinal int
	// The array may begin with a summary by the harness. AfterSummary is the key of that summary when the message
	// Through was summarised, or "" if the array then began without a summary.
	AfterSummary string
	// Pinned holds the keys of covered prompts that stay on the wire, oldest first. If there are fewer than MaxPinned,
	// the other elements are "".
	Pinned [MaxPinned]string
	// Baseline, Acknowledgement and Delta are the texts of the head's messages.
	Baseline, Acknowledgement, Delta string
	// InBaseline and InDelta count compartments. The baseline shows the session's first InBaseline compartments, and
	// the delta shows the next InDelta.
	InBaseline, InDelta int
	// BaselineTokens includes the acknowledgement.
	BaselineTokens, DeltaTokens int
	// Sections describes the baseline to people.
	Sections HeadSections
	// DocsHash identifies the project documents in the baseline. Memories lists the ids
	// of the memories in it, for example "3,7".
	DocsHash, Memories string
	// MemoryMark and UpdateMark are the highest ids of a memory and of an update at the time of the fold. The delta
	// shows the memories and updates with higher ids.
	MemoryMark, UpdateMark int64
	// KeyFiles lists the key files in the baseline. Each line has the form "HASH PATH".
	KeyFiles string
	// FoldedAt is the time of the fold in Unix milliseconds.
	FoldedAt int64
}

// A head pins at most MaxPinned prompts: the newest prompt, and the prompt before it.
const MaxPinned = 2

func (h Head) Pins(messageKey string) bool {
	return messageKey != "" && slices.Contains(h.Pinned[:], messageKey)
}

// HeadSections holds sizes in tokens.
type HeadSections struct {
	Docs, History, Memory, KeyFiles int
	// Tiers counts the compartments at tiers 1 to 4, and the archived compartments.
	Tiers [5]int
	// Covered is the size of the messages that the head covers, without the content that edits had already removed.
	Covered int
}

// Exists reports whether the session has a head.
func (h Head) Exists() bool { return h.Baseline != "" }

func (h Head) Tokens() int { return h.BaselineTokens + h.DeltaTokens }

func (h Head) Shows() int { return h.InBaseline + h.InDelta }

type Keys map[string]bool

// SetHead makes h the head. `covered` contains the keys of all messages that h replaces. The highest tag of these
// messages would not be enough: for example, when the harness stores the text of an old aborted answer late, a replaced
// message gets a unit with a higher tag.
func (s *State) SetHead(h Head, covered Keys) {
	s.Head, s.covered, s.hidden = h, covered, false
	for i := range s.units {
		s.units[i].Covered = covered[s.units[i].MessageKey]
	}
}

// HideHead hides the head, or shows it again if `hidden` is false. While the head is hidden, it covers no unit. isNew
// is false if nothing has changed.
func (s *State) HideHead(hidden bool) (isNew bool) {
	if s.hidden == hidden {
		return false
	}
	s.hidden = hidden
	for i := range s.units {
		s.units[i].Covered = !hidden && s.covered[s.units[i].MessageKey]
	}
	return true
}

// Covers reports whether the head replaces a message. The result is the same while the head is hidden.
func (s *State) Covers(messageKey string) bool { return s.covered[messageKey] }

// HeadTokens returns the size of the head's messages, or 0 if the head is hidden.
func (s *State) HeadTokens() int {
	if s.hidden {
		return 0
	}
	return s.Head.Tokens()
}

// Cover makes the head replace one more message, which the harness has inserted between covered messages after the
// fold.
func (s *State) Cover(messageKey string) {
	if s.covered[messageKey] {
		return
	}
	if s.covered == nil {
		s.covered = make(Keys)
	}
	s.covered[messageKey] = true
	for i := range s.units {
		if s.units[i].MessageKey == messageKey {
			s.units[i].Covered = true
		}
	}
}

func (o *Overlay) layHead(h Head, covered Keys) {
	o.Head = h
	for i := range o.state.units {
		u := &o.state.units[i]
		if isCovered := covered[u.MessageKey]; u.Covered != isCovered {
			shown := *u
			shown.Covered = isCovered
			o.set(shown)
		}
	}
}
