package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// QueuedDrops applies the drops that the model queued with ctx_reduce. A drop of one of the newest active units has to
// wait, unless the prefix is gone anyway. The newest tool arcs become skeletons, so that the model still sees its
// calls.
func QueuedDrops(v View, k Knobs) []frozen.Edit {
	queue := v.State.Queue()
	if len(queue) == 0 {
		return nil
	}
	protectedFrom := newestActive(v.State, k.ProtectedTags)
	skeletonFrom := min(newestTools(v.State, SkeletonWindow), firstUnread(v))
	needed := v.needed()
	var edits []frozen.Edit
	for _, q := range queue {
		u := v.State.ByTag(q.Tag)
		switch {
		case u == nil || !u.Active():
			continue
		case q.Tag >= protectedFrom && !v.PrefixIsGone:
			continue
		case needed[q.Tag]:
			continue
		}
		edits = append(edits, frozen.Edit{Tag: q.Tag, Kind: dropKind(u, skeletonFrom)})
	}
	return edits
}

func dropKind(u *frozen.Unit, skeletonFrom int) frozen.EditKind {
	if u.Kind == frozen.ToolUnit && u.Tag >= skeletonFrom {
		return frozen.Skeleton
	}
	return frozen.Drop
}

// IsProtected reports whether a drop of the unit has to wait for newer units.
func IsProtected(s *frozen.State, tag int, k Knobs) bool {
	return tag >= ProtectedFrom(s, k)
}

// ProtectedFrom returns the lowest protected tag.
func ProtectedFrom(s *frozen.State, k Knobs) int {
	return newestActive(s.With(frozen.Additions{}), k.ProtectedTags)
}

// newestActive returns the tag of the n-th newest active unit. If there are fewer than n, it returns 0, so that all
// units are protected.
func newestActive(s *frozen.Overlay, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Active() })
}

// newestTools returns the tag of the n-th newest tool unit, whether the unit is dropped or not. If there are fewer
// than n, it returns 0.
func newestTools(s *frozen.Overlay, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Kind == frozen.ToolUnit })
}

func newest(s *frozen.Overlay, n int, counts func(*frozen.Unit) bool) int {
	for u := range s.UnitsFromNewest() {
		if !counts(u) {
			continue
		}
		if n--; n == 0 {
			return u.Tag
		}
	}
	return 0
}
