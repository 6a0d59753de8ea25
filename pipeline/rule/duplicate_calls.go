package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// DuplicateCalls drops all but the newest of several identical calls, because only the newest result is certainly up to
// date. It looks only at calls that change nothing (Facts.Call). It ignores a call that failed or has no result.
func DuplicateCalls(v View, k Knobs) []frozen.Edit {
	if !k.Deduplicate {
		return nil
	}
	guard := v.guard(k, k.TurnProtection)
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
		if guard.protects(m, it, u) {
			return
		}
		edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
	})
	return edits
}
