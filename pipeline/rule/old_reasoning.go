package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldReasoning leaves the reasoning of old messages out, and thinking that
// models without reasoning write into their texts (spec transform §18). The
// decision hangs at the message's newest unit; a message without units is too
// small to matter.
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

// thought returns what the reasoning of the unit's message weighs, in tokens.
func (v View) thought(tag int) int {
	for i := range v.Messages {
		for _, it := range v.Messages[i].Items {
			if it.Tag == tag {
				return v.Messages[i].ThoughtTokens
			}
		}
	}
	return 0
}

// isUnthought reports whether any unit of the message carries the decision.
func (v View) isUnthought(m *Message) bool {
	for _, it := range m.Items {
		if u := v.State.ByTag(it.Tag); u != nil && u.Unthought {
			return true
		}
	}
	return false
}
