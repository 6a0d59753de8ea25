package history

import (
	"cmp"
	"slices"
)

// A span is a sequence of messages that must stay together in the head, the historian's input or the tail. A cut is the
// ordinal of the first message after it, so the span from 3 to 5 forbids the cuts 4 and 5.
type span struct{ first, last int }

type spans []span

// spansOf returns the spans of all arcs. If a call in the message `liveFrom` or in a later message has no result, the
// result may still come. So the span of this call reaches to the end of the session. An older call without a result has
// no span.
func spansOf(m *Messages, uncovered, liveFrom int) spans {
	var all []span
	for _, a := range arcsOf(m) {
		switch {
		case a.last == open && a.first >= max(uncovered, liveFrom):
			all = append(all, span{a.first, m.total + 1})
		case a.last > a.first:
			all = append(all, span(a))
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var merged spans
	for _, s := range all {
		if n := len(merged); n > 0 && s.first <= merged[n-1].last {
			merged[n-1].last = max(merged[n-1].last, s.last)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

func (s spans) around(cut int) (span, bool) {
	i, _ := slices.BinarySearchFunc(s, cut, func(s span, cut int) int { return cmp.Compare(s.last, cut) })
	if i < len(s) && s[i].first < cut {
		return s[i], true
	}
	return span{}, false
}

// If a cut is inside a span, the method `outside` moves it to the end of the span. But if the span reaches to the end
// of the session, for example because a call waits for its result, the cut moves back to the start of the span.
func (s spans) outside(cut, total int) int {
	switch around, ok := s.around(cut); {
	case !ok:
		return cut
	case around.last >= total:
		return around.first
	default:
		return around.last + 1
	}
}

func (s spans) before(cut int) int {
	if around, ok := s.around(cut); ok {
		return around.first
	}
	return cut
}

// An arc joins a tool call and its result, and holds the ordinals of their messages. An answer and its continuation
// also form an arc.
type arc struct{ first, last int }

const open = 0

// arcsOf returns the arcs of all messages. A result belongs to the oldest call with its id that has no result yet.
func arcsOf(m *Messages) []arc {
	var arcs []arc
	waiting := map[string][]int{} // indices into arcs, by call id
	for i := range m.list {
		ordinal := m.list[i].Ordinal
		for _, c := range m.list[i].Calls {
			queue := waiting[c.ID]
			switch {
			case c.Asks && c.Answers:
				arcs = append(arcs, arc{ordinal, ordinal})
			case c.Asks:
				waiting[c.ID] = append(queue, len(arcs))
				arcs = append(arcs, arc{ordinal, open})
			case c.Answers && len(queue) > 0:
				arcs[queue[0]].last, waiting[c.ID] = ordinal, queue[1:]
			}
		}
		if m.list[i].IsContinued {
			arcs = append(arcs, arc{ordinal, ordinal + 1})
		}
	}
	return arcs
}
