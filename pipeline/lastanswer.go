package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// While thinking is on, Claude refuses a request whose last answer has calls and does not begin with thinking. Any
// answer may become the last one: when the user writes mid-turn, when a turn is aborted, and after a revert. So the
// messages after an answer decide which of its contents have to stay. A revert may change this even on a pass that
// may not edit, so it is computed from the transcript and not stored as an edit. While the array only grows, this
// changes no wire: the rules leave the newest answer and the results before it unchanged (View.unread and
// View.separating in pipeline/rule).

type spared struct{ call, text bool }

func (s *memo) sparedOf(i int) spared {
	p := render.ProfileNamed(s.frame.Profile)
	return spared{call: s.hasToKeepCall(i, p, s.frame.Binds), text: s.hasToKeepText(i, p)}
}

// sparedOf reads the messages after an entry only up to the second that ends an answer. So reviewEnd looks only at
// the last two rendered messages that end an answer, and at all messages between and after them.
func (s *memo) reviewEnd() {
	for i, left := s.rendered-1, 2; i >= 0 && left > 0; i-- {
		e := &s.entries[i]
		if !e.traits.silent && !s.isJoinable(i) {
			left--
		}
		if e.spared != s.sparedOf(i) {
			s.stale = append(s.stale, i)
		}
	}
}

// hasToKeepCall reports whether one call of entry i has to stay on the wire. That is so if entry i, or the next step
// after it, ends its turn with calls and signed thinking. This step may become the last answer, for example after a
// revert, and Anthropic requires that the last answer begins with its thinking. If the step vanished, an answer
// without thinking could become the last one. If the step before it kept no result, the two steps would fuse, and the
// last answer would lose its thinking.
//
// The provider joins an answer without calls with the next answer, so the thinking may be in a message before the
// calls.
//
// The rules leave one call of such an answer (Message.KeepsCall) as a skeleton. Frame.KeepsCall brings a call back if
// all calls were removed before.
func (s *array) hasToKeepCall(i int, p render.Profile, binds bool) bool {
	if binds || !p.WantsThinkingFirst || !s.isStep(i) {
		return false
	}
	if s.endsTurnThinking(i) {
		return true
	}
	next := s.nextSeen(i)
	for next < len(s.entries) && s.isJoinable(next) {
		next = s.nextSeen(next)
	}
	return p.FusesAssistants && next < len(s.entries) && s.isStep(next) && s.endsTurnThinking(next)
}

// hasToKeepText reports whether entry i is the last answer of its turn, after answers with calls, and is a shell or
// has an empty text. Without the entry, an answer with calls would be the last, and would have to begin with
// thinking. At the end of the array, a text would ask the provider to continue an answer, so an empty answer gets its
// text only before a user message.
func (s *memo) hasToKeepText(i int, p render.Profile) bool {
	e := &s.entries[i]
	isEmpty := e.traits.empty && !p.DropsEmptyText && !s.frame.Binds
	if !isEmpty && !s.isShell(e) || !e.mayExposeCalls(p) {
		return false
	}
	next := s.nextSeen(i)
	return next == len(s.entries) && !isEmpty || next < len(s.entries) && s.entries[next].header.role == transcript.User
}

func (s *memo) isShell(e *entry) bool {
	return slices.ContainsFunc(e.items, func(it rule.Item) bool {
		u := s.shown.ByTag(it.Tag)
		return u != nil && u.IsShell
	})
}

// mayExposeCalls reports whether an older answer with calls could become the last answer if this message vanished, at
// a provider that requires thinking there.
func (e *entry) mayExposeCalls(p render.Profile) bool {
	return p.WantsThinkingFirst && e.header.afterCalls
}

func (s *array) isStep(i int) bool {
	e := &s.entries[i]
	return e.header.role == transcript.Assistant && e.header.hasTools && !e.traits.silent
}

// The provider joins an answer without calls with an answer after it.
func (s *array) isJoinable(i int) bool {
	e := &s.entries[i]
	return e.header.role == transcript.Assistant && !e.header.hasTools && !e.traits.silent
}

// endsTurnThinking reports whether entry i is directly before a message of the user, and it or an earlier answer that
// the provider joins with it has signed thinking.
func (s *array) endsTurnThinking(i int) bool {
	if next := s.nextSeen(i); next == len(s.entries) || s.entries[next].header.role != transcript.User {
		return false
	}
	for !s.entries[i].traits.signed {
		for i--; i >= 0 && s.entries[i].traits.silent; i-- {
		}
		if i < 0 || !s.isJoinable(i) {
			return false
		}
	}
	return true
}

// nextSeen returns the index of the first entry after entry i that reaches the provider.
func (s *array) nextSeen(i int) int {
	for i++; i < len(s.entries) && s.entries[i].traits.silent; i++ {
	}
	return i
}
