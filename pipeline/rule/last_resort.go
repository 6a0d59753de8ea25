package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// keptArcs is how many of the newest tool arcs even an emergency leaves: the
// model is working with them.
const keptArcs = 3

// ProtectedResults drops tool outputs even if age protects them, oldest first,
// when the next request would not fit otherwise (from spec history §18's 95 %
// on): a request that the provider refuses helps nobody. The newest stay, and so
// does what the model has not read.
func ProtectedResults(v View, _ Knobs) []frozen.Edit {
	keepFrom := newestTools(v.State, keptArcs)
	unread := firstUnread(v)
	need := v.Need
	var edits []frozen.Edit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if need <= 0 || u.Kind != frozen.ToolUnit || !u.Active() || it.Open || it.Tag >= keepFrom || it.Tag >= unread {
			return
		}
		e := frozen.Edit{Tag: it.Tag, Kind: frozen.Drop}
		need -= u.Freed(e)
		edits = append(edits, e)
	})
	return edits
}

// OldestTexts drops the oldest texts and files when nothing else is left to drop
// and the next request would not fit. The user's newest message stays, and what
// is protected by its age.
func OldestTexts(v View, k Knobs) []frozen.Edit {
	protectedFrom := min(newestActive(v.State, k.ProtectedTags), newestUserTag(v))
	need := v.Need
	var edits []frozen.Edit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if need <= 0 || u.Kind == frozen.ToolUnit || !u.Active() || it.Tag >= protectedFrom {
			return
		}
		e := frozen.Edit{Tag: it.Tag, Kind: frozen.Drop}
		if freed := u.Freed(e); freed > 0 {
			need -= freed
			edits = append(edits, e)
		}
	})
	return edits
}

// firstUnread returns the lowest tag of the step whose results the model has
// not read: those of the newest assistant message, if nothing follows it.
func firstUnread(v View) int {
	none := v.State.TagCounter + 1
	if len(v.Messages) == 0 {
		return none
	}
	last := &v.Messages[len(v.Messages)-1]
	if last.Role != Assistant || len(last.Items) == 0 {
		return none
	}
	lowest := none
	for _, it := range last.Items {
		lowest = min(lowest, it.Tag)
	}
	return lowest
}

func newestUserTag(v View) int {
	for i := len(v.Messages) - 1; i >= 0; i-- {
		if m := &v.Messages[i]; m.Role == User && len(m.Items) > 0 {
			lowest := m.Items[0].Tag
			for _, it := range m.Items {
				lowest = min(lowest, it.Tag)
			}
			return lowest
		}
	}
	return v.State.TagCounter + 1
}
