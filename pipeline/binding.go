package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// promptID returns the text by which the host identifies a prompt. It consists of the preamble's number and a hash of
// the messages. A model that binds its thinking (docs/preserved-thinking.md) accepts a thinking block only after the
// exact prompt for which it produced the block. So the host stores the id of this prompt as the binding of the answer.
// If the preamble or a message before the answer changes later, the answer's thinking is lost. The host also does not
// send the thinking of an answer without a binding, for example if no host ran when the model answered.

func promptID(preamble int, c Chain) string {
	return strconv.Itoa(preamble) + "." + hex.EncodeToString(c.Hash[:])
}

// token identifies the request of a pass. The client does not interpret it. `prompt` contains a hash of the messages on
// the wire. `newest` is the key of the array's newest message that has an id of the harness (see
// transcript.Message.Nameless). The wire may leave this message out, and then two requests with different newest
// messages have the same `prompt`. Their tokens still differ.
func token(prompt, newest string) string { return prompt + newestID(newest) }

func newestID(newest string) string {
	sum := sha256.Sum256([]byte(newest))
	return "." + hex.EncodeToString(sum[:8])
}

func (s *array) newestNamed(n int) string {
	for n--; n >= 0; n-- {
		if h := &s.entries[n].header; !h.nameless {
			return h.key
		}
	}
	return ""
}

func (s *memo) TookBack() bool {
	return s.sentToken != "" && (s.sentCount == 0 || s.counted() < s.sentCount) && !slices.ContainsFunc(s.entries, func(e entry) bool { return strings.HasSuffix(s.sentToken, newestID(e.header.key)) })
}

// The method `holds` reports whether entry i still follows the prompt for which the model produced its thinking. If the
// entry is new and answers the newest request, the method binds the entry's thinking to the prompt of this request.
func (s *memo) holds(i int, before Chain, w *Wire) bool {
	e := &s.entries[i]
	if !e.traits.signed {
		return true // unsigned thinking has no proof that could fail
	}
	now := promptID(s.frame.Preamble, before)
	b := s.State.Binding(e.header.key)
	switch {
	case b == nil && i > 0 && (s.sentToken == token(now, s.newestNamed(i)) || s.answered[now]):
		bound := frozen.Binding{MessageKey: e.header.key, Prompt: now}
		s.State.Bind(bound)
		s.unstored = append(s.unstored, bound)
		return true
	case b == nil || b.Lost:
		return false
	case b.Prompt == now:
		return true
	}
	w.Lost = append(w.Lost, e.header.key)
	w.LostBlocks += e.traits.thoughts
	w.LostTokens += e.traits.thought / BytesPerToken
	return false
}

// BindAnswer binds the thinking of an answer as soon as the answer is complete, before an array contains it. `sent` is
// the token of the request that was answered. If this request did not have the wire whose chain is `wire`, BindAnswer
// does nothing.
func BindAnswer(state *frozen.State, wire Chain, messageKey, sent string) (frozen.Binding, bool) {
	prompt := promptID(state.Setup.Preamble, wire)
	if !state.Setup.Binds || state.Binding(messageKey) != nil || !strings.HasPrefix(sent, prompt+".") {
		return frozen.Binding{}, false
	}
	b := frozen.Binding{MessageKey: messageKey, Prompt: prompt}
	state.Bind(b)
	return b, true
}

// Answered gives a fork the ids of the original's prompts whose answers were in no array of the original. A fork that
// is made right after such an answer contains the answer (F6 in docs/defects.md). Because the host knows the prompt's
// id, the fork can bind the answer's thinking to it, and so may send the thinking.
func (s *memo) Answered(prompts map[string]bool) { s.answered = prompts }

// isUnboundAtSight guesses whether the thinking of e has to be left out. It has to guess because the hash chain up to e
// is not known yet. If the guess was wrong, settle renders the message a second time.
func (s *memo) isUnboundAtSight(e *entry) bool {
	if !s.frame.Binds || !e.traits.signed {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b == nil && s.sentToken == "" || b != nil && b.Lost
}

// hasLostThinking reports whether the thinking of e can never be sent again. It reads the frozen state and not the
// rendering, because a restarted host has not rendered anything yet.
func (s *content) hasLostThinking(e *entry) bool {
	if !s.State.Setup.Binds {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b != nil && b.Lost
}

// Unstore remembers a binding that could not be stored. The next pass that is committed stores it.
func (s *memo) Unstore(b frozen.Binding) { s.unstored = append(s.unstored, b) }

func (s *memo) Unstored() []frozen.Binding { return s.unstored }

// lostWith estimates how many tokens of thinking in the first n messages become invalid if `after` replaces the current
// setup.
func (s *content) lostWith(after frozen.Setup, n int) int {
	before := s.State.Setup
	if !after.Binds || after.Preamble == before.Preamble {
		return 0
	}
	if before.Binds {
		return s.boundThinking(0) - s.boundThinking(n)
	}
	tokens := 0
	for i := range n {
		if e := &s.entries[i]; e.traits.signed && sendsThinking(e, s.State) {
			tokens += e.traits.thought / BytesPerToken
		}
	}
	return tokens
}

type units interface {
	ByTag(tag int) *frozen.Unit
}

// sendsThinking reports whether the wire contains the thinking of e. The wire lacks it in four cases: the head covers
// the message, the message is a shell, an unthink edit has removed the thinking, or all calls of the message were
// dropped.
func sendsThinking(e *entry, in units) bool {
	calls, dropped := 0, 0
	for _, it := range e.items {
		u := in.ByTag(it.Tag)
		switch {
		case u == nil:
		case u.Covered || u.IsShell || u.Unthought:
			return false
		case u.Kind == frozen.ToolUnit:
			calls++
			if u.Edit == frozen.Drop {
				dropped++
			}
		}
	}
	return calls == 0 || dropped < calls
}

// thinkingIn returns how many tokens of reasoning the wire contains for the first n messages. The host's own count of a
// message excludes its reasoning.
func (s *content) thinkingIn(n int, in units) int {
	tokens := 0
	for i := range s.entries[:n] {
		tokens += s.thinkingOf(&s.entries[i], in)
	}
	return tokens
}

func (s *content) thinkingOf(e *entry, in units) int {
	if e.traits.thought > 0 && sendsThinking(e, in) && !s.hasLostThinking(e) {
		return e.traits.thought / BytesPerToken
	}
	return 0
}

// thinkingSent returns the same as thinkingIn for the units of the frozen state, but caches the sum up to each message.
// If the method `weigh` counts a message again, it clears the sums from this message on.
func (s *content) thinkingSent(n int) int {
	for i := len(s.thinking); i < n; i++ {
		s.thinking = append(s.thinking, s.thinkingSent(i)+s.thinkingOf(&s.entries[i], s.State))
	}
	if n == 0 {
		return 0
	}
	return s.thinking[n-1]
}

// Thinking estimates the tokens of reasoning in the newest wire. It counts as if the additions `a`, which are not
// committed yet, were part of the frozen state.
func (s *memo) Thinking(a frozen.Additions) int {
	if len(a.Edits) == 0 && len(a.Restored) == 0 && a.Head == nil && a.Setup == nil {
		return s.thinkingSent(len(s.entries))
	}
	return s.thinkingIn(len(s.entries), s.State.With(a))
}

// boundThinking estimates how many tokens of thinking become invalid if the message at index `first` changes.
func (s *content) boundThinking(first int) int {
	if !s.State.Setup.Binds {
		return 0
	}
	tokens := 0
	for i := first; i < len(s.entries); i++ {
		b := s.State.Binding(s.entries[i].header.key)
		if e := &s.entries[i]; b != nil && !b.Lost {
			tokens += e.traits.thought / BytesPerToken
		}
	}
	return tokens
}
