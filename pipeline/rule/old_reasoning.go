package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldReasoning leaves out the reasoning of old messages, also in texts, for example between <think> tags. The edit is
// stored at the message's newest unit. A message without units is so small that its reasoning can stay.
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

// thoughts returns the size of each message's reasoning in tokens, by the tag of the unit that gets the edit.
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
