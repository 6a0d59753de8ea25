package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// When a call is dropped, a text that the model wrote beside it, for example "now I read the file", is worth little.
// SpentNarration drops such texts. It runs after all rules for tools. Without it, a session whose texts fill the window
// would bust again and again.
func SpentNarration(v View, k Knobs) []frozen.Edit {
	protectedFrom := newestActive(v.State, k.ProtectedTags)
	drops := v.dropsUntilEnough()
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Role != Assistant || !v.hasLostItsCalls(m) {
			continue
		}
		for _, it := range m.Items {
			u := v.State.ByTag(it.Tag)
			if drops.isEnough() || u == nil || u.Kind != frozen.TextUnit || !u.Active() || it.Tag >= protectedFrom {
				continue
			}
			drops.addIfSmaller(u)
		}
	}
	return drops.edits
}

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
