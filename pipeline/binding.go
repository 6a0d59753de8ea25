package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// A model that binds its thinking (docs/preserved-thinking.md) accepts a thinking block only after the exact prompt
// that the block was produced for. The host identifies this prompt by the number of the preamble and the hash chain of
// the wire. So it needs no list of changes that invalidate thinking: the thinking of a message is lost if the
// preamble's number or the chain before the message changes. If a message has no binding, for example because it was
// answered without the host, its thinking is not sent.

// promptID names a prompt by its preamble and the chain of its messages, for example
// "3.9f86d0…".
func promptID(preamble int, c Chain) string {
	return strconv.Itoa(preamble) + "." + hex.EncodeToString(c.Hash[:])
}

// token returns the name of a pass's wire, which the client treats as opaque. newest is the key of the array's last
// message that is not nameless (transcript.Message). The token includes it, because a binding is for the answer to
// exactly this message. The chain alone does not name it: a message that is left out of the wire does not change the
// chain.
func token(prompt, newest string) string { return prompt + newestID(newest) }

// newestID returns the end of a token. This end names the array's last message.
func newestID(newest string) string {
	sum := sha256.Sum256([]byte(newest))
	return "." + hex.EncodeToString(sum[:8])
}

// newestNamed returns the key of the last message that is not nameless, among the first n.
func (s *array) newestNamed(n int) string {
	for n--; n >= 0; n-- {
		if h := &s.entries[n].header; !h.nameless {
			return h.key
		}
	}
	return ""
}

// TookBack reports whether the user has reverted the message with which the newest request ended: the array does not
// hold this message, and is shorter than the request. If the client did not report a token, TookBack returns false.
func (s *memo) TookBack() bool {
	return s.sentToken != "" && (s.sentCount == 0 || s.counted() < s.sentCount) && !slices.ContainsFunc(s.entries, func(e entry) bool { return strings.HasSuffix(s.sentToken, newestID(e.header.key)) })
}

// holds reports whether the thinking of entry i still follows the prompt that it was produced for. The argument before
// is the chain of everything that the request sends before the entry. If the entry is new and answers the newest
// request, holds binds its thinking to the prompt of this request.
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

// BindAnswer binds the thinking of an answer that is complete but not yet part of any array, and returns the binding to
// store. state and wire are those after the session's newest pass. sent is the token of the answer's request. If sent
// names another wire, BindAnswer does nothing.
func BindAnswer(state *frozen.State, wire Chain, messageKey, sent string) (frozen.Binding, bool) {
	prompt := promptID(state.Setup.Preamble, wire)
	if !state.Setup.Binds || state.Binding(messageKey) != nil || !strings.HasPrefix(sent, prompt+".") {
		return frozen.Binding{}, false
	}
	b := frozen.Binding{MessageKey: messageKey, Prompt: prompt}
	state.Bind(b)
	return b, true
}

// Answered is called for a session that is a copy. It takes those prompts of the original whose answer the original had
// in no array, because it was forked or compacted directly after the answer (F6 in docs/defects.md). If the copy has an
// unknown answer after one of these prompts, the answer's thinking is valid.
func (s *memo) Answered(prompts map[string]bool) { s.answered = prompts }

// isUnboundAtSight guesses, before the chain is known, whether the thinking of e has
// to be left out. Settle corrects a wrong guess, at the price of a second rendering.
func (s *memo) isUnboundAtSight(e *entry) bool {
	if !s.frame.Binds || !e.traits.signed {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b == nil && s.sentToken == "" || b != nil && b.Lost
}

// hasLostThinking reports whether the thinking of e was lost in an earlier pass. It
// reads the frozen state and not the rendering, because a restarted host decides
// before it has rendered anything.
func (s *content) hasLostThinking(e *entry) bool {
	if !s.State.Setup.Binds {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b != nil && b.Lost
}

// Unstore records that a binding could not be stored. The next committed pass stores it.
func (s *memo) Unstore(b frozen.Binding) { s.unstored = append(s.unstored, b) }

// Unstored returns the bindings made since the last committed pass.
func (s *memo) Unstored() []frozen.Binding { return s.unstored }

// lostWith estimates how many tokens of thinking the first n messages of the wire lose if the argument after becomes
// the setup. If the model binds its thinking, a new preamble invalidates all thinking.
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

// units finds the units of a frozen state, with or without additions laid over it.
type units interface {
	ByTag(tag int) *frozen.Unit
}

// sendsThinking reports whether the wire of these units still holds the thinking of e. Thinking is removed in three
// ways: with its message, if the head covers the message or it is a shell; by an unthink edit; or with the message's
// last call.
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

// thinkingIn estimates how many tokens of reasoning the first n messages send with these
// units. The host's count of these messages does not include reasoning.
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

// thinkingSent is thinkingIn with the units of the frozen state. It visits only messages that are new, or that weigh
// has counted again, since its last call.
func (s *content) thinkingSent(n int) int {
	for i := len(s.thinking); i < n; i++ {
		s.thinking = append(s.thinking, s.thinkingSent(i)+s.thinkingOf(&s.entries[i], s.State))
	}
	if n == 0 {
		return 0
	}
	return s.thinking[n-1]
}

// Thinking estimates how many tokens of reasoning the newest wire sends. a holds its additions, if they are not committed yet.
func (s *memo) Thinking(a frozen.Additions) int {
	if len(a.Edits) == 0 && len(a.Restored) == 0 && a.Head == nil && a.Setup == nil {
		return s.thinkingSent(len(s.entries))
	}
	return s.thinkingIn(len(s.entries), s.State.With(a))
}

// boundThinking estimates how many tokens of thinking become invalid if message first changes: the bound thinking of
// this message and of all later messages.
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
