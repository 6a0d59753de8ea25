package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// DuplicateCalls drops all but the newest of identical calls (spec
// dcp-and-crucible A10 P2, transform §15.2), across the session: what the
// newest says is what holds. Only calls that change nothing count as identical
// (Facts.Call); a failed call is none.
func DuplicateCalls(v View, k Knobs) []frozen.Edit {
	if !k.Deduplicate {
		return nil
	}
	cutoff, lastStep := v.cutoff(k), v.steps()-k.TurnProtection
	newest := make(map[uint64]int)
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if it.Call != 0 && !it.Failed && !it.Open && u.Active() {
			newest[it.Call] = it.Tag
		}
	})
	var edits []frozen.Edit
	v.eachItem(func(m *Message, it *Item, u *frozen.Unit) {
		if it.Call == 0 || it.Failed || it.Open || !u.Active() || newest[it.Call] == it.Tag {
			return
		}
		if it.Tag > cutoff || m.Step > lastStep || k.protectsTool(u.Tool) || k.protectsPath(it.Path) {
			return
		}
		edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
	})
	return edits
}
