package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// ToolReclaim drops tool outputs, oldest first, until the goal is reached. It drops an output only if an earlier pass
// could already have dropped it. So the model sees each output at least once, and the user need not configure a minimum
// age.
func ToolReclaim(v View, k Knobs) []frozen.Edit {
	protectedFrom := newestActive(v.State, k.ProtectedTags)
	skeletonFrom := newestTools(v.State, SkeletonWindow)
	drops := v.dropsUntilEnough()
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		switch {
		case drops.isEnough() || u.Kind != frozen.ToolUnit || !u.Active() || it.Open:
		case it.Tag > v.ReclaimUpTo || it.Tag >= protectedFrom || v.State.Queued(it.Tag):
		case k.protectsPath(it.Path):
		default:
			drops.add(u, dropKind(u, skeletonFrom))
		}
	})
	return drops.edits
}
