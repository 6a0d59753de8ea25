package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// QueuedDrops applies the drops that the model queued with ctx_reduce. If a unit is one of the newest active units, its
// drop waits for newer units, unless the prefix is gone anyway. A tool arc among the newest tools becomes a skeleton,
// so that the model still sees which call it made. Later passes do not change this choice between skeleton and drop.
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

// dropKind returns how a unit is dropped: one of the newest tools becomes a
// skeleton, every other unit is dropped whole.
func dropKind(u *frozen.Unit, skeletonFrom int) frozen.EditKind {
	if u.Kind == frozen.ToolUnit && u.Tag >= skeletonFrom {
		return frozen.Skeleton
	}
	return frozen.Drop
}

// IsProtected reports whether a drop of the unit with this tag has to wait for
// newer units.
func IsProtected(s *frozen.State, tag int, k Knobs) bool {
	return tag >= ProtectedFrom(s, k)
}

// ProtectedFrom returns the lowest protected tag: a drop of an active unit with this tag or a higher tag has to wait.
func ProtectedFrom(s *frozen.State, k Knobs) int {
	return newestActive(s.With(frozen.Additions{}), k.ProtectedTags)
}

// newestActive returns the tag of the n-th newest active unit. All active units from this tag on are protected. If
// there are fewer than n, the result is 0, so that all active units are protected.
func newestActive(s *frozen.Overlay, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Active() })
}

// newestTools returns the tag of the n-th newest tool unit, dropped units
// included, or 0 if there are fewer than n.
func newestTools(s *frozen.Overlay, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Kind == frozen.ToolUnit })
}

// newest returns the tag of the n-th newest unit for which counts returns true, or 0 if there are fewer than n such units.
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
