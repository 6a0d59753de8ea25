package rawhistory

// An Entry is one message of a session in the form that Number needs.
type Entry struct {
	// Key is the host's key of the message, empty if the message cannot be read.
	Key string
	// IsSummary says that the message is a summary of the session, which the harness has written. Such a
	// message has no ordinal.
	IsSummary bool
}

// An Anchor is a message whose ordinal is known, because a compartment begins or ends with it.
type Anchor struct {
	Ordinal int
	Key     string
}

// AnchorsOf returns the anchors of a compartment: its first and its last message.
func AnchorsOf(start int, startKey string, end int, endKey string) []Anchor {
	anchors := []Anchor{{Ordinal: start, Key: startKey}}
	if end > start {
		anchors = append(anchors, Anchor{Ordinal: end, Key: endKey})
	}
	return anchors
}

// Number returns the ordinal of each entry, or 0 for an entry without one.
//
// Without anchors, the first message has ordinal 1, and each next message has one more. An unreadable message
// is counted. A summary is not.
//
// An anchor keeps its ordinal, and counting goes on from it. So a deleted message leaves a gap, and the
// ordinals behind the next anchor stay right. Before the first anchor, Number counts backwards. A message
// gets no ordinal if that count has reached 0, or if the count forwards has reached the ordinal of the next
// anchor. Number ignores an anchor that is not among the entries, and an anchor that contradicts the anchors
// before it.
func Number(entries []Entry, anchors []Anchor) []int {
	ordinals := make([]int, len(entries))
	found := locate(entries, anchors)
	first, next := 0, 1
	if len(found) > 0 {
		first, next = found[0].index, found[0].Ordinal
		for i, n := first-1, next-1; i >= 0 && n > 0; i-- {
			if !entries[i].IsSummary {
				ordinals[i] = n
				n--
			}
		}
	}
	for i := first; i < len(entries); i++ {
		if len(found) > 0 && i == found[0].index {
			next, found = found[0].Ordinal, found[1:]
		}
		if entries[i].IsSummary || len(found) > 0 && next >= found[0].Ordinal {
			continue
		}
		ordinals[i] = next
		next++
	}
	return ordinals
}

type located struct {
	Anchor
	index int
}

// locate returns the anchors that are among the entries, in the order of both.
func locate(entries []Entry, anchors []Anchor) (found []located) {
	if len(anchors) == 0 {
		return nil
	}
	index := make(map[string]int, len(entries))
	for i, e := range entries {
		if e.Key != "" && !e.IsSummary {
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
