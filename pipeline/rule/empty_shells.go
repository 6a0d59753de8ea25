package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// EmptyShells marks assistant messages of which nothing worth sending is left:
// placeholders only, or an old notice of the harness (spec transform §18). It is
// the last rule, because it looks at what the others have left. The user's
// messages are never marked (B2).
func EmptyShells(v View, k Knobs) []frozen.Edit {
	var edits []frozen.Edit
	noticesUpTo := len(v.Messages) - 2*k.ProtectedTags
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Role != Assistant || m.Solid || len(m.Items) == 0 {
			continue
		}
		if tag := v.shellOf(m, i < noticesUpTo && !m.Thinks); tag > 0 {
			edits = append(edits, frozen.Edit{Tag: tag, Kind: frozen.Shell})
		}
	}
	return edits
}

// shellOf returns the unit at which the decision about an empty message hangs:
// its first text, all of which are dropped, or are notices where those count.
// Arcs that were dropped are gone already. 0 says that something is left.
func (v View) shellOf(m *Message, noticesCount bool) int {
	tag, dropped, notices := 0, true, noticesCount
	for _, it := range m.Items {
		u := v.State.ByTag(it.Tag)
		switch {
		case u == nil || u.IsShell:
			return 0
		case u.Kind == frozen.ToolUnit && u.Edit == frozen.Drop:
			notices = false
		case u.Kind == frozen.TextUnit:
			dropped, notices = dropped && !u.Active(), notices && it.Notice
			if tag == 0 {
				tag = it.Tag
			}
		default:
			return 0
		}
	}
	if dropped || notices {
		return tag
	}
	return 0
}
