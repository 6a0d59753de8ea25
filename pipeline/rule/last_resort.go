package rule

import (
	"cmp"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// keptArcs is the number of newest tool arcs that stay even in an emergency,
// because the model is working with them.
const keptArcs = 3

// ProtectedResults drops tool outputs although age protects them, oldest first.
// It is asked if the next request would not fit otherwise, from 95 % of the
// window on: a request that the provider refuses helps nobody. The newest arcs
// stay, and so do results that the model has not read.
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

// UnfitResults withholds tool outputs, the largest first, if the request does not fit
// without doing so. It takes the newest outputs as well, even those that the model has not
// read: a model that knows why an output is missing can read it in parts.
func UnfitResults(v View, _ Knobs) []frozen.Edit {
	if v.Goal.Fit == 0 {
		return nil
	}
	var units []*frozen.Unit
	v.eachItem(func(_ *Message, it *Item, u *frozen.Unit) {
		if u.Kind == frozen.ToolUnit && u.Active() && !it.Open {
			units = append(units, u)
		}
	})
	slices.SortStableFunc(units, func(a, b *frozen.Unit) int { return cmp.Compare(b.Tokens, a.Tokens) })
	drops := drops{need: v.Need + max(v.Goal.Target, v.Goal.Ceiling) - v.Goal.Fit} // what the model asked for goes only as far as it must
	for _, u := range units {
		if !drops.isEnough() && u.Freed(frozen.Edit{Tag: u.Tag, Kind: frozen.Withhold}) > 0 {
			drops.add(u, frozen.Withhold)
		}
	}
	return drops.edits
}

// OldestTexts drops the oldest texts and files if no tool output is left to
// drop and the next request still would not fit. The user's newest message
// stays, and so do units that age protects.
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

// firstUnread returns the lowest tag of the answer whose results the model has
// not read. If there is none, it returns a tag above all given ones.
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
