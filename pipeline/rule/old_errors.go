package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldErrors shortens the arguments of calls that failed some steps ago. The text of the error stays.
func OldErrors(v View, k Knobs) []frozen.Edit {
	if !k.ClampOldErrors {
		return nil
	}
	guard := v.guard(k, max(1, k.ErrorSteps, k.TurnProtection))
	var edits []frozen.Edit
	v.eachItem(func(m *Message, it *Item, u *frozen.Unit) {
		if it.Failed && it.LongInput && u.Edit == frozen.NoEdit && !guard.protects(m, it, u) {
			edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Clamp})
		}
	})
	return edits
}
