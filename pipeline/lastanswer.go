package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// While thinking is on, Claude refuses a request whose last answer has calls but does not begin with thinking. Any
// answer may become the last one, for example when the user reverts the messages after it. So some answers have to keep
// a call or a text that would otherwise be removed. Which answers these are depends on the messages after them.
//
// These decisions are not stored as edits: after a revert, they must change even on a steady pass. So each rendering
// makes them again from the transcript. New messages at the end change nothing that was sent, because the rules leave
// alone the newest answer and the results before it (View.unread and View.separating in pipeline/rule).

type spared struct{ call, text bool }

func (s *memo) sparedOf(i int) spared {
	p := render.ProfileNamed(s.frame.Profile)
	return spared{call: s.hasToKeepCall(i, p, s.frame.Binds), text: s.hasToKeepText(i, p)}
}

// New messages may change the result of sparedOf for messages that are already rendered. reviewEnd marks the messages
// whose result has changed as stale. The result for a message depends only on the next two messages that count. A
// message does not count if the provider does not see it, or if the provider joins it with the next one. So reviewEnd
// goes back only to the second-to-last message that counts.
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

// hasToKeepCall reports whether entry i must keep one call on the wire. Anthropic requires that the last answer of a
// request begins with its thinking, and entry i or the next step may become the last answer, for example after a
// revert. There are two cases:
//
//  1. Entry i ends its turn with calls and signed thinking. Without its calls, it would not be sent, and an answer
//     without thinking could become the last one.
//  2. The next step ends its turn with calls and signed thinking. Without a result between the two steps, the provider
//     would join them, and the thinking of the next step would be in the middle of the joined answer.
//
// The thinking may be in a message before the calls: the provider joins an answer without calls with the next answer.
//
// The rules turn the last call into a skeleton and do not drop it (Message.KeepsCall). If all calls were dropped
// earlier, Frame.KeepsCall brings one back.
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

// hasToKeepText reports whether entry i must be sent with a text, although it is a shell or has an empty text. Suppose
// that entry i ends a turn, and that an earlier answer of this turn has calls. Without entry i, the earlier answer
// would be the last one, and would have to begin with thinking. If no message follows, an empty answer gets no text,
// because the provider would take the text for the beginning of an answer that it has to continue.
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

// mayExposeCalls reports whether this message protects an older answer with calls. If the message were not sent, the
// older answer could become the last answer, and the provider would require thinking at its start.
func (e *entry) mayExposeCalls(p render.Profile) bool {
	return p.WantsThinkingFirst && e.header.afterCalls
}

func (s *array) isStep(i int) bool {
	e := &s.entries[i]
	return e.header.role == transcript.Assistant && e.header.hasTools && !e.traits.silent
}

// isJoinable reports whether entry i is a visible answer without calls. The provider joins such an answer with an answer
// after it.
func (s *array) isJoinable(i int) bool {
	e := &s.entries[i]
	return e.header.role == transcript.Assistant && !e.header.hasTools && !e.traits.silent
}

// endsTurnThinking reports whether entry i is the last message before a message of the user, and has signed thinking.
// The thinking may also be in an earlier answer that the provider joins with entry i.
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

func (s *array) nextSeen(i int) int {
	for i++; i < len(s.entries) && s.entries[i].traits.silent; i++ {
	}
	return i
}
