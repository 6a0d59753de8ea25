package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SpentReasoning removes the reasoning of answers whose content was dropped, so that only placeholders are left. Some
// providers require the reasoning of every answer that still has content (Message.LosesSpentThought). For these
// providers, no other rule removes the reasoning of the empty answers, and in a session of many turns it would fill the
// window.
func SpentReasoning(v View, _ Knobs) []frozen.Edit {
	drops := v.dropsUntilEnough()
	for i := range v.Messages {
		m := &v.Messages[i]
		if drops.isEnough() {
			break
		}
		if m.LosesSpentThought && v.isSpent(m) && !v.isUnthought(m) {
			drops.edits = append(drops.edits, frozen.Edit{Tag: newestTag(m), Kind: frozen.Unthink})
			drops.need -= m.ThoughtTokens
		}
	}
	return drops.edits
}

// isSpent reports whether the message has at least one placeholder and no other content. A message that had only calls
// has no placeholder: its reasoning was removed together with the calls.
func (v View) isSpent(m *Message) bool {
	placeholders := 0
	for _, it := range m.Items {
		u := v.State.ByTag(it.Tag)
		switch {
		case u == nil || u.Edit != frozen.Drop || m.KeepsCall && u.Kind == frozen.ToolUnit:
			return false
		case u.Kind != frozen.ToolUnit:
			placeholders++
		}
	}
	return placeholders > 0
}
