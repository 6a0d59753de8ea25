package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// An old skeleton is useless to the model, and in a small window the arguments of many skeletons need much space.
// Below the force level, a skeleton stays (bug class A31 in docs/defects.md).
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
