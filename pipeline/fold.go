package pipeline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A History holds everything from which a head can be made, as it was at the beginning of the pass.
type History struct {
	// Compartments holds the published compartments, ordered by Seq. Withdrawn holds the compartments that reverts have
	// withdrawn, in the order of their publication. If the messages of a withdrawn compartment come back, the head can
	// show it again.
	Compartments, Withdrawn []chronicle.Compartment
	Docs                    []history.Doc
	// Memories and Updates are ordered by id.
	Memories []chronicle.Memory
	Updates  []chronicle.MemoryChange
	// Notes is the number of open notes that the model has written with ctx_note.
	Notes int
	// Promises are the open promises, and the promises that were closed since the head was folded.
	Promises []chronicle.Note
	Session  string
	// KeyFiles holds the files that the project's sessions read most, and the files that the head already shows.
	// KeyFileTokens is the budget for them.
	KeyFiles      []history.KeyFile
	KeyFileTokens int
	// BudgetTokens is the baseline's budget for the compartments. DocsTokens is its budget for the documents. 0 means
	// the default.
	BudgetTokens, DocsTokens int
	// MemoryTokens is the budget of the memories in the baseline, or 0 for the default.
	MemoryTokens int
	// StandsAlone allows a head that shows only memories or promises, and no compartment. Such a head frees no space,
	// so it changes only when the prefix is gone anyway, or after a flush.
	StandsAlone bool
	// Refold makes the next bust fold the head, because compartments of the head were replaced or removed.
	Refold bool
}

// FoldReason says why a pass has rendered a new baseline, for example "first-head".
type FoldReason string

// A fold has one of these reasons, a reason of history.NeedsFold, or the cause of a hard pass.
const (
	// FoldFirst: the session had no head, or a head without compartments.
	FoldFirst FoldReason = "first-head"
	// FoldReverted: a revert has removed messages that the head covered.
	FoldReverted FoldReason = "reverted"
	// FoldRefold: compartments of the head were replaced or removed.
	FoldRefold FoldReason = "refold"
)

type headChange struct {
	head   *frozen.Head
	keys   frozen.Keys
	reason FoldReason // of a fold, "" for a new delta
	// `covered` is the number of messages at the start of the array that the head covers, including pinned prompts.
	// `freed` is the number of tokens that the change removes from the wire. `resent` is the size of the part of the
	// head that is new.
	covered, freed int
	resent         int
}

func (c headChange) isFold() bool { return c.reason != "" }

// nextHead folds if the prefix is lost, if there is no head yet, or if the head is wrong, for example after a revert.
// Otherwise, it changes at most the delta, so that the baseline stays in the provider's cache.
func (s *Session) nextHead(a Assessment, r Readings) headChange {
	now := s.State.Head
	unchanged := headChange{covered: s.coveredBy(now)}
	if r.History == nil || r.Subagent {
		return unchanged
	}
	shown := s.standing(r.History)
	tells := a.Cause == CauseFlush && now.Exists() && now.InBaseline == 0 && r.History.StandsAlone // the head shows memories or promises, and no compartment
	switch {
	case s.isReverted(now):
		return s.fold(r, shown, FoldReverted)
	case len(shown) == 0 && (a.Verdict != schema.Hard && !tells || now.Ordinal > 0 || !now.Exists() && !r.History.StandsAlone):
		return unchanged
	case !now.Exists(), now.Ordinal == 0 && len(shown) > 0: // the old baseline has no section for compartments
		return s.fold(r, shown, FoldFirst)
	case r.History.Refold:
		return s.fold(r, shown, FoldRefold)
	case a.Verdict == schema.Hard:
		return s.fold(r, shown, FoldReason(a.Cause))
	case len(shown) > now.Shows():
		return s.extend(r, shown)
	// Without a new compartment, only a flush writes a new delta, to show new memories, promises and key files. Other
	// busts often change only the end of the prompt. With a new delta, they would have to send almost the whole prompt
	// again.
	case a.Cause == CauseFlush && len(untold(r.History, now))+len(unseen(r.History, now))+len(history.ItemsSince(r.History.Promises, now.FoldedAt))+len(history.StaleKeyFiles(now.KeyFiles, r.History.KeyFiles)) > 0:
		return s.extend(r, shown)
	}
	return unchanged
}

// The method `standing` returns the compartments that the head may show: first the published compartments that no
// revert has reached, then withdrawn compartments whose messages have come back. For example, a user of Pi can return
// to an older branch.
func (s *array) standing(h *History) []chronicle.Compartment {
	chain := slices.Clip(s.unreverted(h))
	next := 1
	if n := len(chain); n > 0 {
		next = chain[n-1].End + 1
	}
	for {
		i := lastIndexOf(h.Withdrawn, func(c *chronicle.Compartment) bool { return c.Start == next && s.isBack(c) && s.follows(c, chain) })
		if i < 0 {
			return chain
		}
		chain = append(chain, h.Withdrawn[i])
		next = h.Withdrawn[i].End + 1
	}
}

func (s *array) isBack(c *chronicle.Compartment) bool {
	end := c.EndKey()
	return end != "" && s.Has(end) && !slices.ContainsFunc(c.Keys, func(key string) bool { return key != "" && !s.Has(key) })
}

// The method `follows` reports whether the messages of c come directly after the messages of the chain. Ordinals do not
// show this: in Pi, another branch of the session can have different messages with the same ordinals. So `follows`
// checks that no message of the array lies between the end of the chain and c.
func (s *array) follows(c *chronicle.Compartment, chain []chronicle.Compartment) bool {
	from := 0
	if n := len(chain); n > 0 {
		end, ok := s.index[chain[n-1].EndKey()]
		if !ok { // a summary by the harness hides the chain's end
			end, ok = s.index[s.SummaryKey()]
		}
		if ok {
			from = end + 1
		}
	}
	for i := from; i < len(s.entries); i++ {
		e := s.entries[i].numbered()
		if slices.Contains(c.Keys, e.Key) {
			return true
		}
		if !e.IsSummary && !e.IsOutside {
			return false
		}
	}
	return false
}

func lastIndexOf[T any](all []T, accepts func(*T) bool) int {
	for i := range slices.Backward(all) {
		if accepts(&all[i]) {
			return i
		}
	}
	return -1
}

// The method `unreverted` returns the published compartments that no revert has reached. Usually, these are all
// compartments up to the last one whose end is in the array. But the array may begin with a summary by the harness or
// with the host's marker. Then it lacks the summarised messages, so it may contain the end of no compartment. In that
// case, `unreverted` returns the oldest compartments, up to the first one that is newer than this summary or has a
// message in the array.
func (s *array) unreverted(h *History) []chronicle.Compartment {
	all := h.Compartments
	if len(all) == 0 || len(s.entries) == 0 {
		return all
	}
	for i := range slices.Backward(all) {
		if s.Has(all[i].EndKey()) {
			return all[:i+1]
		}
	}
	summary := s.SummaryKey()
	if summary == "" {
		return nil
	}
	return all[:countWhile(all, func(c chronicle.Compartment) bool {
		return c.AfterSummary != summary && !slices.ContainsFunc(c.Keys, s.Has)
	})]
}

// Standing returns the number of published compartments that no revert has reached, and the withdrawn compartments that
// follow them again because their messages have come back.
func (s *array) Standing(h *History) (kept int, restored []chronicle.Compartment) {
	kept = len(s.unreverted(h))
	return kept, s.standing(h)[kept:]
}

func (s *content) hasRestored(r Readings) bool {
	if r.History == nil || r.Subagent || len(r.History.Withdrawn) == 0 {
		return false
	}
	kept, restored := s.Standing(r.History)
	return kept+len(restored) > max(kept, s.State.Head.Shows())
}

func CoveredKeys(h frozen.Head, all []chronicle.Compartment) frozen.Keys {
	keys := make(frozen.Keys)
	for i := range all {
		for j, key := range all[i].Keys {
			if key != "" && all[i].Start+j <= h.Ordinal && !h.Pins(key) {
				keys[key] = true
			}
		}
	}
	return keys
}

func countWhile[T any](all []T, keep func(T) bool) int {
	if i := slices.IndexFunc(all, func(v T) bool { return !keep(v) }); i >= 0 {
		return i
	}
	return len(all)
}

// If there are no compartments, and memories or promises alone do not justify a head (History.StandsAlone), fold
// removes the head.
func (s *Session) fold(r Readings, shown []chronicle.Compartment, reason FoldReason) headChange {
	now := s.State.Head
	next := frozen.Head{Fold: now.Fold + 1}
	var keys frozen.Keys
	if h := r.History; len(shown) == 0 && !h.StandsAlone {
		next.Fold = now.Fold
	} else {
		text := history.Baseline(history.BaselineInput{
			Docs: h.Docs, Memories: h.Memories, Compartments: shown, Notes: h.Notes, Promises: h.Promises, Session: h.Session,
			KeyFiles: h.KeyFiles, KeyFileBudget: h.KeyFileTokens,
			HistoryBudget: h.BudgetTokens, DocsBudget: h.DocsTokens, MemoryBudget: h.MemoryTokens, FoldedAt: r.Now, CountText: s.CountText,
		})
		next.Baseline, next.BaselineTokens = text.Text, text.Tokens+s.CountText(history.Acknowledgement)
		next.Acknowledgement, next.InBaseline, next.FoldedAt = history.Acknowledgement, len(shown), r.Now
		next.Memories, next.Sections = idList(text.Memories), sectionsOf(text)
		next.MemoryMark, next.UpdateMark = marksOf(h)
		next.KeyFiles = text.KeyFiles
		next.DocsHash = history.DocsHash(h.Docs)
		empty := history.Delta(history.DeltaInput{CountText: s.CountText})
		next.Delta, next.DeltaTokens = empty.Text, empty.Tokens
		if len(shown) > 0 {
			keys = s.cover(&next, shown, r)
		}
	}
	if next.Baseline == now.Baseline && next.Delta == now.Delta && next.Through == now.Through && next.Pinned == now.Pinned {
		return headChange{covered: s.coveredBy(now)} // the same fold again
	}
	change := s.changeTo(next, keys)
	change.reason, change.resent = reason, next.Tokens()
	return change
}

// extend writes a new delta. If the new delta would be too large, it folds instead.
func (s *Session) extend(r Readings, shown []chronicle.Compartment) headChange {
	next, h := s.State.Head, r.History
	text := history.Delta(history.DeltaInput{
		Compartments: shown[next.InBaseline:], Shown: ids(next.Memories), FoldedAt: next.FoldedAt, MemoryBudget: h.MemoryTokens, HistoryBudget: h.BudgetTokens, CountText: s.CountText,
		Memories: unseen(h, next), Updates: untold(h, next), Promises: h.Promises, Session: h.Session,
		StaleKeyFiles: history.StaleKeyFiles(next.KeyFiles, h.KeyFiles),
	})
	if reason, needed := history.NeedsFold(text, next.BaselineTokens, h.BudgetTokens); needed {
		return s.fold(r, shown, FoldReason(reason))
	}
	if text.Text == next.Delta { // an earlier delta has shown the changed memories
		return headChange{covered: s.coveredBy(next)}
	}
	next.Delta, next.DeltaTokens, next.InDelta = text.Text, text.Tokens, len(shown)-next.InBaseline
	var keys frozen.Keys
	if len(shown) > 0 {
		keys = s.cover(&next, shown, r)
	}
	change := s.changeTo(next, keys)
	change.resent = next.DeltaTokens
	return change
}

// cover makes h the head in place of all messages up to the last message of the compartments in `shown`. It returns the
// keys of these messages, except the prompts that h pins.
func (s *content) cover(h *frozen.Head, shown []chronicle.Compartment, r Readings) frozen.Keys {
	last := &shown[len(shown)-1]
	h.Through, h.Ordinal, h.AfterSummary = s.lastInArray(last), last.End, last.AfterSummary
	covered := s.coveredBy(*h)
	h.Pinned = s.pinned(covered, r)
	keys := CoveredKeys(*h, shown)
	for i := range covered {
		if key := s.entries[i].header.key; key != "" && !s.entries[i].staysBehind(*h) {
			keys[key] = true
		}
	}
	var parts frozen.Parts
	for i := range s.State.Units() { // not s.entries: behind a compaction marker, the array lacks covered messages
		if u := &s.State.Units()[i]; keys[u.MessageKey] {
			parts.Add(u)
		}
	}
	h.Sections.Covered = parts.Tokens()
	return keys
}

// lastInArray looks for the message of a compartment that comes last in the array, and returns its key. Usually, this is
// the compartment's last message. The exception is a compaction by the harness that keeps the newest turns: in the
// array, the compaction's request comes before these turns, although it is newer. If the array contains no message of
// the compartment, lastInArray returns the key of the compartment's last message.
func (s *array) lastInArray(c *chronicle.Compartment) string {
	last, at := c.EndKey(), -1
	for _, key := range c.Keys {
		if i, ok := s.index[key]; ok && key != "" && i > at {
			last, at = key, i
		}
	}
	return last
}

// pinnedShare limits a pinned prompt to a twentieth of the window, for example 10,000 of 200,000 tokens. The limit does
// not apply to the newest prompt while the model is answering it.
const pinnedShare = 20

// The method `pinned` looks at the two newest prompts, and returns those that stay on the wire although the head covers
// them. The prompt that the model is answering always stays, because it is the model's task. Any other prompt stays
// only if it is small.
func (s *content) pinned(covered int, r Readings) (pinned [frozen.MaxPinned]string) {
	limit := r.LimitTokens
	if limit <= 0 {
		limit = DefaultLimitTokens
	}
	place, prompts, asked := len(pinned), 0, s.unansweredPrompt()
	for i := len(s.entries) - 1; i >= 0 && prompts < len(pinned); i-- {
		e := &s.entries[i]
		if !e.isPrompt() {
			continue
		}
		prompts++
		if i < covered && (i == asked || r.Counting.tokens(s.rawTokens(i))*pinnedShare <= limit) {
			place--
			pinned[place] = e.header.key
		}
	}
	return pinned
}

func (s *array) unansweredPrompt() int {
	for i := range slices.Backward(s.entries) {
		switch e := &s.entries[i]; {
		case e.endsTurn():
			return -1
		case e.isPrompt():
			return i
		}
	}
	return -1
}

// UnansweredPrompt returns the key and the tokens of the user's newest prompt, or "" if the model has answered it.
func (s *content) UnansweredPrompt() (key string, tokens int) {
	if i := s.unansweredPrompt(); i >= 0 {
		return s.entries[i].header.key, s.rawTokens(i)
	}
	return "", 0
}

func (e *entry) isPrompt() bool { return e.header.role == transcript.User && e.traits.typed }

// endsTurn reports whether the message is an answer after which the model waits for the user.
func (e *entry) endsTurn() bool {
	return e.header.role == transcript.Assistant && !e.header.errored && !e.header.summary &&
		(e.header.finish == transcript.EndsTurn || e.header.finish == transcript.EndsOtherwise)
}

func (s *content) changeTo(next frozen.Head, keys frozen.Keys) headChange {
	c := headChange{head: &next, keys: keys, covered: s.coveredBy(next)}
	c.freed, _ = s.freedByHead(c, len(s.entries))
	return c
}

// freedByHead returns how many tokens the change frees in the head and the first n messages together, in the host's
// count. The second result is the thinking that the change removes. It is not included in the first.
func (s *content) freedByHead(c headChange, n int) (freed, thinking int) {
	if c.head == nil {
		return 0, 0
	}
	freed = s.State.HeadTokens() - c.head.Tokens()
	shown := s.State.With(frozen.Additions{Head: c.head, Covered: c.keys})
	for i := range s.entries[:n] { // for example, the old head still covers some of these messages after a revert
		for _, it := range s.entries[i].items {
			if u := s.State.ByTag(it.Tag); u != nil {
				freed += u.Left() - shown.ByTag(it.Tag).Left()
			}
		}
	}
	return freed, s.thinkingSent(n) - s.thinkingIn(n, shown)
}

func marksOf(h *History) (memory, update int64) {
	for _, m := range h.Memories {
		memory = max(memory, m.ID)
	}
	for _, u := range h.Updates {
		update = max(update, u.ID)
	}
	return memory, update
}

func untold(h *History, head frozen.Head) []chronicle.MemoryChange {
	return slices.DeleteFunc(slices.Clone(h.Updates), func(u chronicle.MemoryChange) bool { return u.ID <= head.UpdateMark })
}

// The function `unseen` returns the memories that were stored or restored since the fold and that the baseline does not
// show.
func unseen(h *History, head frozen.Head) []chronicle.Memory {
	shown, changes := ids(head.Memories), untold(h, head)
	return slices.DeleteFunc(slices.Clone(h.Memories), func(m chronicle.Memory) bool {
		isRestored := func(u chronicle.MemoryChange) bool { return u.Memory == m.ID && u.Kind == chronicle.MemoryRestored }
		return slices.Contains(shown, m.ID) || m.ID <= head.MemoryMark && !slices.ContainsFunc(changes, isRestored)
	})
}

// idList formats ids as "3,7". A frozen.Head stores the list as a string, so that two heads can be compared with ==.
func idList(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(words, ",")
}

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
	return frozen.HeadSections{Docs: t.Sections.Docs, History: t.Sections.History, Memory: t.Sections.Memory, KeyFiles: t.Sections.KeyFiles, Tiers: t.Tiers}
}

func (s *content) hasNews(r Readings) bool {
	return r.History != nil && !r.Subagent && len(s.standing(r.History)) > s.State.Head.Shows()
}
