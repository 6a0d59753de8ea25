package pipeline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
)

// A History holds everything that the head can be made of, as it is at the beginning of a
// pass.
type History struct {
	// Compartments holds the published compartments, ordered by Seq.
	Compartments []history.Compartment
	Docs         []history.Doc
	Profile      []string
	// Memories and Updates are ordered by id.
	Memories []history.Memory
	Updates  []history.MemoryUpdate
	// BudgetTokens is the budget of the compartments in the baseline, 0 for the default.
	BudgetTokens int
	// MemoryTokens is the budget of the memories in the baseline, 0 for the default.
	MemoryTokens int
	// Marker is the first message of the harness's array, if the host's compaction
	// marker hides the messages before it. Without a marker it is zero.
	Marker history.CoveredEnd
	// Refold asks the next bust for a fold, because the compartments were made again.
	Refold bool
}

// FoldReason says why a pass has rendered a new baseline, for example "first-head".
type FoldReason string

// The reasons of a fold, besides the reasons of history.NeedsFold and the causes of a
// hard pass.
const (
	// FoldFirst: the session had no head.
	FoldFirst FoldReason = "first-head"
	// FoldReverted: a revert has taken messages that the head covered.
	FoldReverted FoldReason = "reverted"
	// FoldRefold: the compartments were made again.
	FoldRefold FoldReason = "refold"
)

// A headChange is a proposed head.
type headChange struct {
	// head is nil if the head stays as it is.
	head   *frozen.Head
	reason FoldReason // of a fold, "" for a new delta
	// covered is the number of leading messages that the head covers. freed is the
	// number of tokens by which the wire becomes smaller.
	covered, freed int
	// resent is the number of tokens of the head that are sent again.
	resent int
}

func (c headChange) isFold() bool { return c.reason != "" }

// nextHead proposes the head of a pass that may bust. The pass folds if the prefix is gone,
// if the session has no head yet, or if the head has to be made again. Otherwise it renders
// only a new delta, which leaves the baseline in the provider's cache. If that delta would
// be too large, the pass folds after all.
func (s *Session) nextHead(a Assessment, r Readings) headChange {
	now := s.State.Head
	unchanged := headChange{covered: s.coveredBy(now)}
	if r.History == nil || r.Subagent {
		return unchanged
	}
	shown := s.standing(r.History, now)
	switch {
	case s.isReverted(now):
		return s.fold(r, shown, FoldReverted)
	case len(shown) == 0:
		return unchanged
	case !now.Exists():
		return s.fold(r, shown, FoldFirst)
	case r.History.Refold:
		return s.fold(r, shown, FoldRefold)
	case a.Verdict == schema.Hard:
		return s.fold(r, shown, FoldReason(a.Cause))
	case len(shown) > now.Shows():
		return s.extend(r, shown)
	}
	return unchanged
}

// standing returns the leading compartments that no revert has reached: the array still
// has their messages, or begins after them.
func (s *Session) standing(h *History, now frozen.Head) []history.Compartment {
	all := h.Compartments
	if len(all) == 0 {
		return nil
	}
	for i, c := range slices.Backward(all) {
		if s.Has(c.EndKey) {
			return all[:i+1]
		}
	}
	if i := slices.IndexFunc(all, func(c history.Compartment) bool { return s.Has(c.StartKey) }); i >= 0 {
		return all[:i]
	}
	if len(s.entries) > 0 && s.entries[0].header.key == h.Marker.Key {
		// A revert has taken the end of the compartment that the marker stands in. The
		// compartments that end before the marker are hidden, not reverted.
		return all[:countWhile(all, func(c history.Compartment) bool { return c.End < h.Marker.Ordinal })]
	}
	if len(s.entries) > 0 && !s.beginsBehind(now.ThroughTag) {
		return nil
	}
	return all
}

// Standing returns the number of leading compartments that no revert has reached.
func (s *Session) Standing(h *History) int {
	return len(s.standing(h, s.State.Head))
}

// countWhile returns the number of leading values for which keep is true.
func countWhile[T any](all []T, keep func(T) bool) int {
	if i := slices.IndexFunc(all, func(v T) bool { return !keep(v) }); i >= 0 {
		return i
	}
	return len(all)
}

// fold proposes a new baseline with the compartments in shown, and an empty delta. If
// shown is empty, it proposes to have no head.
func (s *Session) fold(r Readings, shown []history.Compartment, reason FoldReason) headChange {
	now := s.State.Head
	next := frozen.Head{Fold: now.Fold + 1}
	if len(shown) == 0 {
		next.Fold = now.Fold
	} else {
		h := r.History
		text := history.Baseline(history.BaselineInput{
			Docs: h.Docs, Profile: h.Profile, Memories: h.Memories, Compartments: shown,
			HistoryBudget: h.BudgetTokens, MemoryBudget: h.MemoryTokens, FoldedAt: r.Now, CountText: s.CountText,
		})
		next.Baseline, next.BaselineTokens = text.Text, text.Tokens+s.CountText(history.Acknowledgement)
		next.Acknowledgement, next.InBaseline, next.FoldedAt = history.Acknowledgement, len(shown), r.Now
		next.Memories, next.Sections = idList(text.Memories), sectionsOf(text)
		next.MemoryMark, next.UpdateMark = marksOf(h)
		next.DocsHash = history.DocsHash(h.Docs)
		empty := history.Delta(history.DeltaInput{CountText: s.CountText})
		next.Delta, next.DeltaTokens = empty.Text, empty.Tokens
		s.cover(&next, shown[len(shown)-1])
	}
	if next.Baseline == now.Baseline && next.Delta == now.Delta && next.Through == now.Through {
		return headChange{covered: s.coveredBy(now)} // the same fold again
	}
	change := s.changeTo(next)
	change.reason, change.resent = reason, next.Tokens()
	return change
}

// extend proposes a delta with the compartments that were published since the fold. If
// that delta is too large, it proposes a fold.
func (s *Session) extend(r Readings, shown []history.Compartment) headChange {
	next, h := s.State.Head, r.History
	text := history.Delta(history.DeltaInput{
		Compartments: shown[next.InBaseline:], Shown: ids(next.Memories), FoldedAt: next.FoldedAt, MemoryBudget: h.MemoryTokens, CountText: s.CountText,
		Memories: since(h.Memories, next.MemoryMark, func(m history.Memory) int64 { return m.ID }),
		Updates:  since(h.Updates, next.UpdateMark, func(u history.MemoryUpdate) int64 { return u.ID }),
	})
	if reason, needed := history.NeedsFold(text, next.BaselineTokens, h.BudgetTokens); needed {
		return s.fold(r, shown, FoldReason(reason))
	}
	next.Delta, next.DeltaTokens, next.InDelta = text.Text, text.Tokens, len(shown)-next.InBaseline
	s.cover(&next, shown[len(shown)-1])
	change := s.changeTo(next)
	change.resent = next.DeltaTokens
	return change
}

// cover makes h cover everything up to the end of c. If the array begins after c, the
// head covers no message of the array.
func (s *Session) cover(h *frozen.Head, c history.Compartment) {
	end, ok := s.index[c.EndKey]
	if !ok {
		now := s.State.Head
		h.Through, h.Ordinal, h.ThroughTag, h.Sections.Covered = now.Through, now.Ordinal, now.ThroughTag, now.Sections.Covered
		if s.isReverted(now) {
			h.Through, h.Ordinal, h.ThroughTag = c.EndKey, c.End, s.firstTag()-1
		}
		return
	}
	h.Through, h.Ordinal, h.ThroughTag, h.Sections.Covered = c.EndKey, c.End, 0, frozen.Covered{}
	for i := range end + 1 {
		if s.entries[i].header.summary {
			continue // the harness wrote the summary later than the messages that follow it
		}
		for _, it := range s.entries[i].items {
			h.ThroughTag = max(h.ThroughTag, it.Tag)
		}
	}
	for i := range s.State.Units() { // a compaction marker hides covered messages from the array
		if u := &s.State.Units()[i]; u.Tag <= h.ThroughTag {
			h.Sections.Covered.Add(u)
		}
	}
}

// firstTag returns the lowest tag of the array, 1 if it has none.
func (s *Session) firstTag() int {
	first := 0
	for i := range s.entries {
		for _, it := range s.entries[i].items {
			if first == 0 || it.Tag < first {
				first = it.Tag
			}
		}
	}
	return max(1, first)
}

// changeTo returns the change from the session's head to next.
func (s *Session) changeTo(next frozen.Head) headChange {
	before, after := s.coveredBy(s.State.Head), s.coveredBy(next)
	c := headChange{head: &next, covered: after, freed: s.State.Head.Tokens() - next.Tokens()}
	for i := before; i < after; i++ {
		c.freed += s.tokensOf(&s.entries[i])
	}
	return c
}

// marksOf returns the highest ids of memories and of their updates.
func marksOf(h *History) (memory, update int64) {
	for _, m := range h.Memories {
		memory = max(memory, m.ID)
	}
	for _, u := range h.Updates {
		update = max(update, u.ID)
	}
	return memory, update
}

// since returns the values with a higher id than mark.
func since[T any](all []T, mark int64, id func(T) int64) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return id(v) <= mark })
}

// idList writes ids as "3,7". The head's fields are plain values, so that two heads can
// be compared.
func idList(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(words, ",")
}

// ids reads a list that idList has written.
func ids(list string) []int64 {
	var all []int64
	for word := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(word, 10, 64); err == nil {
			all = append(all, id)
		}
	}
	return all
}

func sectionsOf(t history.BaselineText) frozen.HeadSections {
	return frozen.HeadSections{Docs: t.Sections.Docs, Profile: t.Sections.Profile, History: t.Sections.History, Memory: t.Sections.Memory, Tiers: t.Tiers}
}

// hasNews reports whether there are compartments that the head does not show yet.
func (s *Session) hasNews(r Readings) bool {
	return r.History != nil && !r.Subagent && len(s.standing(r.History, s.State.Head)) > s.State.Head.Shows()
}
