package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldText compresses old texts in sessions without ctx_reduce. The older a text is, the more it is
// compressed.
func OldText(v View, k Knobs) []frozen.Edit {
	if k.CompressFrom <= 0 {
		return nil
	}
	cutoff := v.cutoff(k)
	var texts []*frozen.Unit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if u.Kind == frozen.TextUnit && u.Active() && it.Tag <= cutoff && u.Bytes >= k.CompressFrom {
			texts = append(texts, u)
		}
	})
	var edits []frozen.Edit
	for i, u := range texts {
		if level := compressionOf(i, len(texts)); level > u.Level {
			edits = append(edits, frozen.Edit{Tag: u.Tag, Kind: frozen.Compress, Level: level})
		}
	}
	return edits
}

func compressionOf(i, n int) int {
	switch {
	case 5*i < n:
		return 3
	case 5*i < 2*n:
		return 2
	case 5*i < 3*n:
		return 1
	}
	return 0
}
