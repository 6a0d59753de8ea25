package rule

import (
	"cmp"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// The newest keptArcs arcs stay even in an emergency, because the model is working with them.
const keptArcs = 3

// ProtectedResults drops even protected tool outputs, oldest first, because a request that does not fit is worse than a
// lost output. But it keeps the newest arcs, and results that the model has not read.
func ProtectedResults(v View, _ Knobs) []frozen.Edit {
	keepFrom := newestTools(v.State, keptArcs)
	unread := firstUnread(v)
	drops := v.dropsUntilEnough()
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if drops.isEnough() || u.Kind != frozen.ToolUnit || !u.Active() || it.Open || it.Tag >= keepFrom || it.Tag >= unread {
			return
		}
		drops.add(u, frozen.Drop)
	})
	return drops.edits
}

// UnfitContent shrinks a request that the provider would refuse as too long. It may remove content that the model has
// not read, but not the words of the newest prompt or the text of the newest step. It replaces tool outputs and long
// arguments first, the largest first, because the model can read an output again in parts.
func UnfitContent(v View, _ Knobs) []frozen.Edit {
	if v.Goal.Fit == 0 {
		return nil
	}
	type candidate struct {
		u    *frozen.Unit
		edit frozen.Edit
	}
	var calls, others []candidate
	newest, unanswered, typed := v.NewestAnswer(), v.unanswered(), v.newestTyped()
	for i := range v.Messages {
		m := &v.Messages[i]
		for _, it := range m.Items {
			u := v.State.ByTag(it.Tag)
			switch {
			case u == nil || it.Open:
			case u.Kind == frozen.ToolUnit:
				calls = append(calls, candidate{u, frozen.Edit{Tag: it.Tag, Kind: frozen.Withhold}})
				if it.LongInput {
					calls = append(calls, candidate{u, frozen.Edit{Tag: it.Tag, Kind: frozen.Clamp}})
				}
			case !u.Active() || i == typed && it.Typed || m == unanswered:
			case i > newest: // the model has not read this content, so a text must say that it is missing
				others = append(others, candidate{u, frozen.Edit{Tag: it.Tag, Kind: frozen.Withhold}})
			default:
				others = append(others, candidate{u, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop}})
			}
		}
	}
	drops := drops{need: v.Need + max(v.Goal.Target, v.Goal.Ceiling) - v.Goal.Fit} // the request only has to fit into the window, even if the goal is smaller
	for _, all := range [][]candidate{calls, others} {
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.u.Freed(b.edit), a.u.Freed(a.edit)) })
		for _, c := range all {
			if !drops.isEnough() && c.u.Freed(c.edit) > 0 {
				drops.add(c.u, c.edit.Kind)
			}
		}
	}
	return drops.edits
}

// newestTyped returns the index of the newest message with words that the user has typed, or -1.
func (v View) newestTyped() int {
	for i := range slices.Backward(v.Messages) {
		if slices.ContainsFunc(v.Messages[i].Items, func(it Item) bool { return it.Typed }) {
			return i
		}
	}
	return -1
}

func OldestTexts(v View, k Knobs) []frozen.Edit {
	protectedFrom := min(newestActive(v.State, k.ProtectedTags), newestUserTag(v))
	drops := v.dropsUntilEnough()
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if drops.isEnough() || u.Kind == frozen.ToolUnit || !u.Active() || it.Tag >= protectedFrom {
			return
		}
		drops.addIfSmaller(u)
	})
	return drops.edits
}

// KeptPieces removes content although the user has asked to keep it, oldest first. It runs only if the request is still
// too long after all other content was removed.
func KeptPieces(v View, _ Knobs) (edits []frozen.Edit) {
	need, skeletonFrom := v.Need, newestTools(v.State, SkeletonWindow)
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if need > 0 && u.Kept != 0 && u.Active() && !it.Open {
			e := frozen.Edit{Tag: it.Tag, Kind: dropKind(u, skeletonFrom)}
			need -= u.Freed(e)
			edits = append(edits, e)
		}
	})
	return edits
}

// firstUnread returns the lowest tag of the answer whose results the model has not read. If the model has read all
// results, it returns a tag that is higher than the tags of all units.
func firstUnread(v View) int {
	lowest := v.State.TagCounter() + 1
	if m := v.unanswered(); m != nil {
		for _, it := range m.Items {
			lowest = min(lowest, it.Tag)
		}
	}
	return lowest
}

func newestUserTag(v View) int {
	for i := len(v.Messages) - 1; i >= 0; i-- {
		if m := &v.Messages[i]; m.Role == User && len(m.Items) > 0 {
			lowest := m.Items[0].Tag
			for _, it := range m.Items {
				lowest = min(lowest, it.Tag)
			}
			return lowest
		}
	}
	return v.State.TagCounter() + 1
}
