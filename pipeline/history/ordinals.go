package history

import (
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// An Entry is one message of a session in the form that Number needs.
type Entry struct {
	// Key is empty if the message could not be read.
	Key string
	// IsSummary means that the harness made the message as a summary of the session. A summary has no ordinal.
	IsSummary bool
	// IsOutside means that the message does not belong to the conversation (transcript.Message.Stays). It has no
	// ordinal, because the harness does not store or send it every time.
	IsOutside bool
}

// IsSummary reports whether the message is a summary by the harness. An answer is a summary only once it has ended,
// because an unfinished or failed answer may turn into another message.
func IsSummary(m *transcript.Message) bool {
	return m.Summary && (m.Role == transcript.User || m.Finish == transcript.EndsTurn)
}

// AnchorsOf returns the anchors of messages with the ordinals start, start+1 and so on. An
// unreadable message has the key "" and yields no anchor.
func AnchorsOf(start int, keys []string) (anchors []chronicle.Place) {
	for i, key := range keys {
		if key != "" {
			anchors = append(anchors, chronicle.Place{Ordinal: start + i, Key: key})
		}
	}
	return anchors
}

// Number returns the ordinal of each entry, or 0 if the entry has none. The entries are in the order of the harness's
// store. Unreadable messages have ordinals. Summaries and messages outside the conversation have none. If there are no
// anchors, the first message has the ordinal 1.
//
// An anchor is a message whose ordinal is known, for example because a compartment covers it. From each anchor, Number
// counts forwards, so if messages before the next anchor were deleted, their ordinals stay unused. From the first
// anchor, it also counts backwards. An entry gets 0 if counting backwards reaches 0, or if counting forwards reaches
// the ordinal of the next anchor. Number ignores an anchor that is not among the entries, or that contradicts an
// earlier anchor.
func Number(entries []Entry, anchors []chronicle.Place) []int {
	ordinals := make([]int, len(entries))
	found := locate(entries, anchors)
	first, next := 0, 1
	if len(found) > 0 {
		first, next = found[0].index, found[0].Ordinal
		for i, n := first-1, next-1; i >= 0 && n > 0; i-- {
			if !entries[i].hasNone() {
				ordinals[i] = n
				n--
			}
		}
	}
	for i := first; i < len(entries); i++ {
		if len(found) > 0 && i == found[0].index {
			next, found = found[0].Ordinal, found[1:]
		}
		if entries[i].hasNone() || len(found) > 0 && next >= found[0].Ordinal {
			continue
		}
		ordinals[i] = next
		next++
	}
	return ordinals
}

func (e Entry) hasNone() bool { return e.IsSummary || e.IsOutside }

// IsAnchored reports whether Number can compute the ordinals of an array. After a compaction, the array begins with a
// summary, and the number of missing messages is unknown. Number then needs an anchor.
func IsAnchored(array []Entry, anchors []chronicle.Place) bool {
	for _, e := range array {
		if e.IsSummary {
			return len(locate(array, anchors)) > 0
		}
	}
	return len(anchors) == 0 || len(locate(array, anchors)) > 0
}

type located struct {
	chronicle.Place
	index int
}

func locate(entries []Entry, anchors []chronicle.Place) (found []located) {
	if len(anchors) == 0 {
		return nil
	}
	index := make(map[string]int, len(entries))
	for i, e := range entries {
		if e.Key != "" && !e.hasNone() {
			index[e.Key] = i
		}
	}
	last := located{index: -1}
	for _, a := range anchors {
		i, ok := index[a.Key]
		if ok && i > last.index && a.Ordinal > last.Ordinal {
			last = located{a, i}
			found = append(found, last)
		}
	}
	return found
}
