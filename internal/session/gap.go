package session

import (
	"cmp"
	"context"
	"math"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline"
)

// A gap is a range of messages that the harness's own compaction removed before they were summarised. For
// example, compartments cover the messages 1 to 40, and after a /compact the array begins with the harness's
// summary and message 61.
type gap struct {
	// `summary` is the key of the harness's summary. `covered` is the last ordinal of the compartments before the gap.
	summary string
	covered int
	// `filler` is the compartment of the missing messages (41 to 60). Its text is the harness's summary. It is
	// published together with the next compartment.
	filler chronicle.Compartment
	// `first` is the first message of the array. It is zero if the harness's store lacks this message.
	first chronicle.Place
}

// Uncovered returns the messages that no compartment covers. If the array does not show which messages these
// are, Uncovered looks in the harness's store. ok is false in three cases: the store lacks the array's first
// message, messages of a stored compartment are gone, or messages of a withdrawn compartment are back.
func (ss *Sessions) Uncovered(ctx context.Context, s *Session) (u pipeline.Uncovered, ok bool) {
	if kept, restored := s.Pipe.Standing(s.Chronicle.Published()); kept < len(s.Chronicle.Compartments) || len(restored) > 0 {
		return u, false
	}
	covered := s.Chronicle.CoveredEnd().Ordinal
	if s.gap != nil && (s.gap.covered != covered || s.gap.summary != s.Pipe.SummaryKey()) {
		s.gap = nil
	}
	if u, ok = s.Pipe.Uncovered(covered, s.Anchors()); ok && s.gap == nil {
		return u, ok
	}
	if s.gap == nil {
		s.gap = ss.findGap(ctx, s, covered)
	}
	if s.gap.first.Ordinal == 0 {
		return u, false
	}
	return s.Pipe.Uncovered(s.gap.first.Ordinal-1, s.Anchors())
}

// Anchors returns the messages with known ordinals.
func (s *Session) Anchors() []chronicle.Place {
	all := AnchorsOf(s.Chronicle.Compartments)
	if s.gap != nil && s.gap.first.Ordinal > 0 {
		all = append(all, s.gap.first)
	}
	return all
}

// findGap looks in the harness's store for the array's first message. The messages after ordinal `covered` and before
// this message become the filler. If the store lacks the message, `first` stays zero.
func (ss *Sessions) findGap(ctx context.Context, s *Session, covered int) *gap {
	key, text := s.Pipe.Summary()
	g := &gap{summary: key, covered: covered}
	entries, _ := s.Pipe.Raw()
	first := ""
	for _, e := range entries {
		if !e.IsSummary && !e.IsOutside {
			first = cmp.Or(first, e.Key)
		}
	}
	if ss.RawHistory == nil || first == "" || text == "" {
		return g
	}
	var missing []string
	_, err := ss.RawHistory.Read(ctx, ss.storedSession(s), covered+1, math.MaxInt, func(m rawhistory.Message) bool {
		switch {
		case m.Decoded == nil:
			missing = append(missing, "")
		case m.Decoded.Key == first:
			g.first = chronicle.Place{Ordinal: m.Ordinal, Key: first}
			return false
		default:
			missing = append(missing, m.Decoded.Key)
		}
		return true
	})
	if err != nil {
		ss.Log.Warn("messages that the harness has compacted are not found in its store", "session", s.Key.Session, "error", err)
	}
	if g.first.Ordinal > 0 && len(missing) > 0 {
		g.filler = chronicle.Compartment{
			Start: covered + 1, End: covered + len(missing), Keys: missing, Title: "Summary by the harness",
			Tiers: [4]string{text}, Importance: fillerImportance, MadeBy: chronicle.ByHarness,
		}
	}
	return g
}

// Importance is from 1 to 100. The filler is rather important, because no other compartment has its
// messages.
const fillerImportance = 60

// Filler returns the compartment that has to be published before the compartments of a run, or nil.
func (s *Session) Filler() *chronicle.Compartment {
	if s.gap == nil || len(s.gap.filler.Keys) == 0 {
		return nil
	}
	return &s.gap.filler
}
