package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SpentNarration drops what the model said beside calls that are gone: "now I
// read X" is worth little without X. Answers that end a turn stay, and so does
// the user's part. It comes after the tools, of the force level as well, so it
// is only asked when they are not enough: a session whose texts fill the window would bust again and again
// (design §3.12).
func SpentNarration(v View, k Knobs) []frozen.Edit {
	protectedFrom := newestActive(v.State, k.ProtectedTags)
	need := v.Need
	var edits []frozen.Edit
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Role != Assistant || !v.hasLostItsCalls(m) {
			continue
		}
		for _, it := range m.Items {
			u := v.State.ByTag(it.Tag)
			if need <= 0 || u == nil || u.Kind != frozen.TextUnit || !u.Active() || it.Tag >= protectedFrom {
				continue
			}
			e := frozen.Edit{Tag: it.Tag, Kind: frozen.Drop}
			if freed := u.Freed(e); freed > 0 {
				need -= freed
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// hasLostItsCalls reports whether the message called tools and no result of
// them is left.
func (v View) hasLostItsCalls(m *Message) bool {
	called := false
	for _, it := range m.Items {
		u := v.State.ByTag(it.Tag)
		if u == nil || u.Kind != frozen.ToolUnit {
			continue
		}
		if u.Active() {
			return false
		}
		called = true
	}
	return called
}
