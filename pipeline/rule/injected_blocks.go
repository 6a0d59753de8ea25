package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// InjectedBlocks removes old blocks that a harness or its plugins put into a text, for example a <system-reminder>.
func InjectedBlocks(v View, k Knobs) []frozen.Edit {
	cutoff := v.cutoff(k)
	var edits []frozen.Edit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		switch {
		case !it.Injected || it.Tag > cutoff || !u.Active():
		case it.InjectedOnly:
			edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
		default:
			edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Strip})
		}
	})
	return edits
}
