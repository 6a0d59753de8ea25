package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SupersededWrites shortens the arguments of a call that wrote a file, if a later call has read or written the same
// file.
func SupersededWrites(v View, k Knobs) []frozen.Edit {
	if !k.ClampSupersededWrites {
		return nil
	}
	guard := v.guard(k, k.TurnProtection)
	newest := make(map[string]int)
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if it.Path != "" && !it.Failed && !it.Open && u.Active() {
			newest[it.Path] = it.Tag
		}
	})
	var edits []frozen.Edit
	v.eachItem(func(m *Message, it *Item, u *frozen.Unit) {
		if !it.Writes || !it.LongInput || it.Failed || it.Open || u.Edit != frozen.NoEdit || newest[it.Path] <= it.Tag {
			return
		}
		if guard.protects(m, it, u) {
			return
		}
		edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Clamp})
	})
	return edits
}
