package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Uncovered holds the messages after the newest compartment, for the historian.
type Uncovered struct {
	Messages *history.Messages
	// Decoded holds the messages by ordinal.
	Decoded map[int]*transcript.Message
}

// Uncovered returns the messages after the end of the newest compartment. ok is false
// if the array does not contain that end. It decodes the messages again, so a pass must
// not call it.
func (s *Session) Uncovered(covered history.CoveredEnd) (u Uncovered, ok bool) {
	ordinals, total, ok := history.Number(s.numbered(), covered)
	if !ok {
		return u, false
	}
	var places []int
	for i, n := range ordinals {
		if n > covered.Ordinal {
			places = append(places, i)
		}
	}
	decoded, list := make([]transcript.Message, len(places)), make([]history.Message, len(places))
	inParallel(len(places), func(j int) {
		i := places[j]
		decoded[j] = s.Codec.Decode(s.entries[i].raw)
		list[j] = history.MessageOf(&decoded[j], ordinals[i], s.rawTokens(i))
		list[j].Reads = s.readTokens(i)
	})
	u.Decoded = make(map[int]*transcript.Message, len(places))
	for j := range decoded {
		u.Decoded[list[j].Ordinal] = &decoded[j]
	}
	u.Messages = history.NewMessages(list, total)
	return u, true
}

// numbered returns the entry of each message for history.Number.
func (s *Session) numbered() []history.Entry {
	all := make([]history.Entry, len(s.entries))
	for i := range s.entries {
		e := &s.entries[i]
		all[i] = history.Entry{Key: e.header.key, IsSummary: e.isSummary()}
	}
	return all
}

// rawTokens returns the host's count of a message with nothing dropped.
func (s *Session) rawTokens(i int) int {
	e := &s.entries[i]
	tokens := e.traits.thought / BytesPerToken
	for _, it := range e.items {
		if u := s.State.ByTag(it.Tag); u != nil {
			tokens += u.Tokens + u.InputTokens
		}
	}
	return tokens
}

// callTokens estimates the size of a call in the historian's text, which shows only its
// beginning (docs/history.md).
const callTokens = 20

// readTokens returns how much of a message the historian reads, by the host's count.
func (s *Session) readTokens(i int) int {
	tokens := 0
	for _, it := range s.entries[i].items {
		switch u := s.State.ByTag(it.Tag); {
		case u == nil:
		case u.Kind == frozen.TextUnit:
			tokens += u.Tokens
		default:
			tokens += min(u.InputTokens, callTokens)
		}
	}
	return tokens
}

// UncoveredTokens returns the size of the messages after the message with this key. If
// the key is empty or unknown, it returns the size of all messages. It is cheap enough
// for a pass.
func (s *Session) UncoveredTokens(key string) int {
	first := 0
	if i, ok := s.index[key]; ok {
		first = i + 1
	}
	tokens := 0
	for i := first; i < len(s.entries); i++ {
		tokens += s.rawTokens(i)
	}
	return tokens
}
