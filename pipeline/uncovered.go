package pipeline

import (
	"cmp"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type Uncovered struct {
	Messages *history.Messages
	// Decode decodes the message with the given ordinal. It returns nil for an unknown ordinal.
	Decode func(ordinal int) *transcript.Message
	// Covered is the ordinal of the last message before Messages.
	Covered int
}

// Uncovered returns the messages after the last compartment, which ends at the ordinal `covered`. `known` lists
// messages whose ordinals are known, in ascending order. If they are too few to compute the ordinals of the array, ok
// is false (history.IsAnchored). Uncovered decodes only new messages.
func (s *Session) Uncovered(covered int, known []chronicle.Place) (u Uncovered, ok bool) {
	places := s.inStoreOrder(s.Codec.Vocabulary())
	entries := make([]history.Entry, len(places))
	for j, i := range places {
		entries[j] = s.entries[i].numbered()
	}
	if !history.IsAnchored(entries, known) {
		return u, false
	}
	ordinals := history.Number(entries, known)
	total, first := covered, len(ordinals)
	for j, n := range slices.Backward(ordinals) {
		total = max(total, n)
		if n > covered {
			first = j
		}
	}
	for _, i := range places[:first] {
		s.entries[i].told = nil // no historian reads this message again
	}
	places, ordinals = places[first:], ordinals[first:]
	s.tell(places, s.Codec)
	raws := make(map[int]json.Value, len(places))
	list := make([]history.Message, 0, len(places))
	for j, i := range places {
		if ordinals[j] <= covered || s.entries[i].header.key == "" {
			continue
		}
		m := *s.entries[i].told
		m.Ordinal, m.Tokens, m.Reads = ordinals[j], s.rawTokens(i), s.readTokens(i)
		list = append(list, m)
		raws[ordinals[j]] = s.entries[i].raw
	}
	codec := s.Codec
	decode := func(ordinal int) *transcript.Message {
		raw, ok := raws[ordinal]
		if !ok {
			return nil
		}
		m := codec.Decode(raw)
		return &m
	}
	return Uncovered{Messages: history.NewMessages(list, total), Decode: decode, Covered: covered}, true
}

func (s *array) tell(places []int, codec transcript.Codec) {
	untold := slices.DeleteFunc(slices.Clone(places), func(i int) bool { return s.entries[i].told != nil })
	inParallel(len(untold), func(j int) {
		e := &s.entries[untold[j]]
		m := codec.Decode(e.raw)
		told := history.MessageOf(&m, 0, 0)
		e.told = &told
	})
}

// inStoreOrder returns the indexes of the messages in the order of the harness's store, because messages are numbered
// in this order. The array may have a different order: after a compaction that keeps turns, it begins with the summary,
// although the summary is newer than these turns.
func (s *array) inStoreOrder(v *transcript.Vocabulary) []int {
	places, times := make([]int, len(s.entries)), make([]int64, len(s.entries))
	for i := range places {
		places[i], times[i] = i, s.entries[i].header.created
		if times[i] == 0 && i > 0 { // an unreadable message follows the one before it
			times[i] = times[i-1]
		}
	}
	if v.StoresByTime {
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	}
	return places
}

func (e *entry) numbered() history.Entry {
	return history.Entry{Key: e.header.key, IsSummary: e.isSummary(), IsOutside: e.header.stays}
}

func (s *content) rawTokens(i int) int {
	e := &s.entries[i]
	tokens := e.traits.thought / BytesPerToken
	for _, it := range e.items {
		if u := s.State.ByTag(it.Tag); u != nil {
			tokens += u.Tokens + u.InputTokens
		}
	}
	return tokens
}

// The historian reads a tool call only in a short form, of about callTokens tokens, and never reads its result
// (docs/history.md).
const callTokens = 20

func (s *content) readTokens(i int) int {
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

// UncoveredTokens returns the size of the messages after the message with this key. If there is no such message, it
// returns the size of all messages. It is cheap enough for a pass.
func (s *content) UncoveredTokens(key string) int {
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
