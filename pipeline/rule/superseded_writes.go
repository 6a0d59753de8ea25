package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SupersededWrites shortens what a call wrote to a file that was read or
// written again later (spec dcp-and-crucible A10 P4): the later call shows what
// the file holds. The call stays with its path and its result.
func SupersededWrites(v View, k Knobs) []frozen.Edit {
	if !k.ClampSupersededWrites {
		return nil
	}
	cutoff, lastStep := v.cutoff(k), v.steps()-k.TurnProtection
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
		if it.Tag > cutoff || m.Step > lastStep || k.protectsTool(u.Tool) || k.protectsPath(it.Path) {
			return
		}
		edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Clamp})
	})
	return edits
}
