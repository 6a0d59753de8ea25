package pipeline

import (
	"cmp"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// `returning` holds the units that a bust brings back: kept units, and words of the prompt that the model must answer.
type returning struct {
	tags []int
	// `tokens` is the number of tokens that the returning units add to the wire, in the host's count. `ofMeasured`
	// counts only the tokens that they add to messages in the prompt of the newest usage. `first` is the index of the
	// first message that changes.
	tokens, ofMeasured, first int
}

// withRestored adds kept units to a bust, so that they are sent whole again. A kept unit waits for a bust that happens
// anyway: it never causes or prevents one.
func (s *Session) withRestored(d Decision, r Readings, limit int) Decision {
	if d.Verdict == schema.Steady || r.Overflow || !slices.ContainsFunc(s.State.Units(), s.isAwaited) {
		return d
	}
	room := int(r.Threshold/100*float64(limit)) - (d.Size.Current - d.Price.Removed)
	if room <= 0 {
		return d
	}
	a := d.Assessment
	a.Price = schema.BustPrice{}
	with := s.propose(a, r, limit, room)
	with.Rent, with.Price.Rent = d.Rent, d.Price.Rent
	return with
}

// isAwaited reports whether the user wants to keep the unit, but an edit has replaced its content.
func (s *content) isAwaited(u frozen.Unit) bool {
	return u.Kept != 0 && !u.IsWhole() && s.Has(u.MessageKey)
}

// isPromptLost reports whether the model could not read its task, because the prompt that it must answer is shortened
// or covered by the head. For example, a rule has shortened an old prompt, and the user of Pi goes back to this prompt
// with /tree.
func isPromptLost(s *content, r Readings) bool {
	i := s.unansweredPrompt()
	if i < 0 {
		return false
	}
	if s.State.Covers(s.entries[i].header.key) {
		return r.History != nil && !r.Subagent // without a history, the host cannot make a head that pins the prompt
	}
	return len(lostWords(&s.entries[i], s.State)) > 0
}

func lostWords(e *entry, state *frozen.State) (tags []int) {
	for _, it := range e.items {
		if u := state.ByTag(it.Tag); it.Typed && u != nil && !u.IsWhole() {
			tags = append(tags, it.Tag)
		}
	}
	return tags
}

// The method `returning` returns the units that come back with a bust. The words of the prompt that the model must
// answer always come back. Kept units come back in the order in which the user asked for them, as long as they fit into
// `room`, the space that the bust leaves below the high mark. If more units came back, the next pass would have to free
// space again. `shown` is the state with the new head.
func (s *content) returning(shown *frozen.Overlay, room, measured int, perToken float64) (b returning) {
	b.first = len(s.entries)
	grown := func(u *frozen.Unit) int { return u.Tokens + u.InputTokens - u.Left() }
	add := func(u *frozen.Unit) {
		b.tags, b.tokens = append(b.tags, u.Tag), b.tokens+grown(u)
		at := s.index[u.MessageKey]
		if b.first = min(b.first, at); at < measured {
			b.ofMeasured += grown(u)
		}
	}
	if i := s.unansweredPrompt(); i >= 0 {
		for _, tag := range lostWords(&s.entries[i], s.State) {
			add(shown.ByTag(tag))
		}
	}
	var awaited []*frozen.Unit
	for u := range shown.Units() {
		if s.isAwaited(*u) && !u.Covered && !slices.Contains(b.tags, u.Tag) {
			awaited = append(awaited, u)
		}
	}
	slices.SortStableFunc(awaited, func(x, y *frozen.Unit) int { return cmp.Compare(x.Kept, y.Kept) })
	for _, u := range awaited {
		if int(perToken*float64(b.tokens+grown(u))) < room {
			add(u)
		}
	}
	return b
}

// The function `released` returns the tags of kept units that the rules had to remove or that the head covers now.
func released(p rule.Proposal) []int {
	tags := p.Released
	for u := range p.After.Units() {
		if u.Kept != 0 && u.Covered {
			tags = append(tags, u.Tag)
		}
	}
	return tags
}
