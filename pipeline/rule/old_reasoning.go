package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldReasoning removes the reasoning of old messages, including reasoning inside texts, for example between <think>
// tags. The edit is stored at the message's newest unit, so the reasoning of a message without units stays.
func OldReasoning(v View, k Knobs) []frozen.Edit {
	highest := 0
	for i := range v.Messages {
		highest = max(highest, newestTag(&v.Messages[i]))
	}
	cutoff := highest - k.ReasoningAge
	var edits []frozen.Edit
	for i := range v.Messages {
		m := &v.Messages[i]
		tag := newestTag(m)
		if m.Thinks && tag > 0 && tag <= cutoff && !v.isUnthought(m) {
			edits = append(edits, frozen.Edit{Tag: tag, Kind: frozen.Unthink})
		}
	}
	return edits
}

func newestTag(m *Message) int {
	tag := 0
	for _, it := range m.Items {
		tag = max(tag, it.Tag)
	}
	return tag
}

// thoughts returns the size in tokens of each message's reasoning, by the tag of the message's newest unit.
func (v View) thoughts() map[int]int {
	weights := make(map[int]int)
	for i := range v.Messages {
		if m := &v.Messages[i]; m.ThoughtTokens > 0 {
			weights[newestTag(m)] = m.ThoughtTokens
		}
	}
	return weights
}

func (v View) isUnthought(m *Message) bool {
	for _, it := range m.Items {
		if u := v.State.ByTag(it.Tag); u != nil && u.Unthought {
			return true
		}
	}
	return false
}
