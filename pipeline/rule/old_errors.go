package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldErrors shortens the arguments of calls that failed some steps ago. The
// text of the error stays.
func OldErrors(v View, k Knobs) []frozen.Edit {
	if !k.ClampOldErrors {
		return nil
	}
	cutoff := v.cutoff(k)
	lastStep := v.steps() - max(1, k.ErrorSteps, k.TurnProtection)
	var edits []frozen.Edit
	v.eachItem(func(m *Message, it *Item, u *frozen.Unit) {
		if !it.Failed || !it.LongInput || u.Edit != frozen.NoEdit || it.Tag > cutoff || m.Step > lastStep {
			return
		}
		if !k.protectsTool(u.Tool) && !k.protectsPath(it.Path) {
			edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Clamp})
		}
	})
	return edits
}
