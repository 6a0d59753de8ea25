package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldSkeletons drops the calls whose results are gone once they are no longer
// among the newest tools: then they teach the model nothing (spec transform
// §14.2), and in a small window their arguments add up. What was decided once
// stays (bug class A31) up to the force level; from there a pass takes all that
// is worth nothing.
func OldSkeletons(v View, _ Knobs) []frozen.Edit {
	skeletonFrom := newestTools(v.State, SkeletonWindow)
	need := v.Need
	var edits []frozen.Edit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if need > 0 && u.Edit == frozen.Skeleton && it.Tag < skeletonFrom {
			e := frozen.Edit{Tag: it.Tag, Kind: frozen.Drop}
			need -= u.Freed(e)
			edits = append(edits, e)
		}
	})
	return edits
}
