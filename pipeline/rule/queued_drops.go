package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// QueuedDrops drains what was queued by ctx_reduce (spec transform §13.3). A
// drop of one of the newest active units waits until newer ones have come,
// unless the prefix is gone anyway. A tool among the newest ones becomes a
// skeleton, so that the model sees what it has called; the mode is chosen here,
// once.
func QueuedDrops(v View, k Knobs) []frozen.Edit {
	queue := v.State.Queue()
	if len(queue) == 0 {
		return nil
	}
	protectedFrom := newestActive(v.State, k.ProtectedTags)
	skeletonFrom := min(newestTools(v.State, SkeletonWindow), firstUnread(v))
	open := v.open()
	var edits []frozen.Edit
	for _, q := range queue {
		u := v.State.ByTag(q.Tag)
		switch {
		case u == nil || !u.Active():
			continue
		case q.Tag >= protectedFrom && !v.PrefixIsGone:
			continue
		case open[q.Tag]:
			continue
		}
		edits = append(edits, frozen.Edit{Tag: q.Tag, Kind: dropKind(u, skeletonFrom)})
	}
	return edits
}

// dropKind chooses how a unit is dropped: as a skeleton while it is one of the
// newest tools.
func dropKind(u *frozen.Unit, skeletonFrom int) frozen.EditKind {
	if u.Kind == frozen.ToolUnit && u.Tag >= skeletonFrom {
		return frozen.Skeleton
	}
	return frozen.Drop
}

// IsProtected reports whether a drop of tag has to wait for newer units.
func IsProtected(s *frozen.State, tag int, k Knobs) bool {
	return tag >= ProtectedFrom(s, k)
}

// ProtectedFrom returns the tag from which on active units are protected by
// their age.
func ProtectedFrom(s *frozen.State, k Knobs) int { return newestActive(s, k.ProtectedTags) }

// newestActive returns the tag of the n-th newest active unit; every active
// unit from there on is protected. With fewer than n all are.
func newestActive(s *frozen.State, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Active() })
}

// newestTools returns the tag of the n-th newest tool unit, of any state.
func newestTools(s *frozen.State, n int) int {
	return newest(s, n, func(u *frozen.Unit) bool { return u.Kind == frozen.ToolUnit })
}

func newest(s *frozen.State, n int, counts func(*frozen.Unit) bool) int {
	units := s.Units()
	for i := len(units) - 1; i >= 0; i-- {
		if !counts(&units[i]) {
			continue
		}
		if n--; n == 0 {
			return units[i].Tag
		}
	}
	return 0
}
