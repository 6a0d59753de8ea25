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
// that the block was produced for. The host identifies this prompt by the number of the preamble and the hash chain
// of the wire. The thinking of a message is lost if the preamble's number or the chain before the message changes. If
// a message has no binding, for example because it was answered without the host, its thinking is not sent.

func promptID(preamble int, c Chain) string {
	return strconv.Itoa(preamble) + "." + hex.EncodeToString(c.Hash[:])
}

// token names a pass's wire. The client does not interpret it. newest is the key of the array's last message that is
// not nameless (transcript.Message). The chain does not name a message that the wire leaves out.
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

// TookBack reports whether the user has reverted the message with which the newest request ended.
func (s *memo) TookBack() bool {
	return s.sentToken != "" && (s.sentCount == 0 || s.counted() < s.sentCount) && !slices.ContainsFunc(s.entries, func(e entry) bool { return strings.HasSuffix(s.sentToken, newestID(e.header.key)) })
}

// holds reports whether the thinking of entry i still follows the prompt that it was produced for. If the entry is
// new and answers the newest request, holds binds its thinking to the prompt of this request.
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

// BindAnswer binds the thinking of a complete answer that no array holds yet, and returns the binding to store. If
// sent, the token of the answer's request, names another wire, nothing happens.
func BindAnswer(state *frozen.State, wire Chain, messageKey, sent string) (frozen.Binding, bool) {
	prompt := promptID(state.Setup.Preamble, wire)
	if !state.Setup.Binds || state.Binding(messageKey) != nil || !strings.HasPrefix(sent, prompt+".") {
		return frozen.Binding{}, false
	}
	b := frozen.Binding{MessageKey: messageKey, Prompt: prompt}
	state.Bind(b)
	return b, true
}

// prompts are prompts of the original whose answer no array of the original held, for example after a fork directly
// after the answer (F6 in docs/defects.md). An unknown answer of the copy after one of these has valid thinking.
func (s *memo) Answered(prompts map[string]bool) { s.answered = prompts }

// isUnboundAtSight guesses, before the chain is known, whether the thinking of e has to be left out. settle corrects
// a wrong guess, at the price of a second rendering.
func (s *memo) isUnboundAtSight(e *entry) bool {
	if !s.frame.Binds || !e.traits.signed {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b == nil && s.sentToken == "" || b != nil && b.Lost
}

// A restarted host decides before it has rendered anything, so hasLostThinking reads the frozen state and not the
// rendering.
func (s *content) hasLostThinking(e *entry) bool {
	if !s.State.Setup.Binds {
		return false
	}
	b := s.State.Binding(e.header.key)
	return b != nil && b.Lost
}

// Unstore records that a binding could not be stored. The next committed pass stores it.
func (s *memo) Unstore(b frozen.Binding) { s.unstored = append(s.unstored, b) }

func (s *memo) Unstored() []frozen.Binding { return s.unstored }

// lostWith estimates how many tokens of thinking the first n messages of the wire lose if after becomes the setup.
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

// Thinking is removed with its message, by an unthink edit, or with the message's last call. The message is removed
// if the head covers it or if it is a shell.
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

// The result is in tokens of reasoning, which the host's count of messages does not include.
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

// thinkingSent is thinkingIn with the units of the frozen state. It visits only new messages, and messages that weigh
// has counted again.
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

// boundThinking estimates the tokens of thinking that become invalid if message first changes.
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
