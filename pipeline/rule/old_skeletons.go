package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// OldSkeletons drops skeletons that are no longer among the newest tools. Such
// an old skeleton teaches the model nothing, and in a small window the
// arguments of many skeletons add up. Below the force level a skeleton stays a
// skeleton (bug class A31 in docs/defects.md). From that level on, a pass takes
// everything that has no more value.
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
