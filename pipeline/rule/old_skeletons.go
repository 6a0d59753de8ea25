package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldSkeletons drops old skeletons, because their arguments need much space in a small window, and the model does not
// need them. Below the force level, skeletons stay (bug class A31 in docs/defects.md).
func OldSkeletons(v View, _ Knobs) []frozen.Edit {
	skeletonFrom := newestTools(v.State, SkeletonWindow)
	drops := v.dropsUntilEnough()
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if !drops.isEnough() && u.Edit == frozen.Skeleton && it.Tag < skeletonFrom {
			drops.add(u, frozen.Drop)
		}
	})
	return drops.edits
}
