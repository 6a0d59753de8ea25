package pipeline

import (
	"cmp"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// A returning holds the kept units that a bust brings back.
type returning struct {
	tags []int
	// tokens is how much larger the units become on the wire, by the host's count. ofMeasured is the part of tokens in
	// the messages that the newest usage has measured. first is the index of the first message that changes.
	tokens, ofMeasured, first int
}

// If d is a decision to bust, withRestored adds the kept units that come back with the bust. Like a queued drop, a kept
// unit waits for a bust: it never causes one, and never prevents one.
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

// isAwaited reports whether the user has asked to keep a unit whose content was taken.
func (s *content) isAwaited(u frozen.Unit) bool {
	return u.Kept != 0 && !u.IsWhole() && s.Has(u.MessageKey)
}

// returning returns the awaited units that fit into room, in the order in which the user has asked for them. room is
// the number of tokens between the size of the prompt after the bust and the high mark. With more, the next pass would
// have to free space again. shown is the state with the new head.
func (s *content) returning(shown *frozen.Overlay, room, measured int, perToken float64) (b returning) {
	b.first = len(s.entries)
	var awaited []*frozen.Unit
	for u := range shown.Units() {
		if s.isAwaited(*u) && !u.Covered {
			awaited = append(awaited, u)
		}
	}
	slices.SortStableFunc(awaited, func(x, y *frozen.Unit) int { return cmp.Compare(x.Kept, y.Kept) })
	for _, u := range awaited {
		grown := u.Tokens + u.InputTokens - u.Left()
		if int(perToken*float64(b.tokens+grown)) >= room {
			continue
		}
		b.tags, b.tokens = append(b.tags, u.Tag), b.tokens+grown
		at := s.index[u.MessageKey]
		if b.first = min(b.first, at); at < measured {
			b.ofMeasured += grown
		}
	}
	return b
}

// released returns the tags of the units that a pass ends keeping: the rules had to take them, or the head now stands
// for them.
func released(p rule.Proposal) []int {
	tags := p.Released
	for u := range p.After.Units() {
		if u.Kept != 0 && u.Covered {
			tags = append(tags, u.Tag)
		}
	}
	return tags
}
