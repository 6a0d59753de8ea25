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
		dropped, notices := true, i < noticesUpTo && !m.Thinks
		for _, it := range m.Items {
			u := v.State.ByTag(it.Tag)
			if u == nil || u.Kind != frozen.TextUnit || u.IsShell {
				dropped, notices = false, false
				break
			}
			dropped = dropped && !u.Active()
			notices = notices && it.Notice
		}
		if dropped || notices {
			edits = append(edits, frozen.Edit{Tag: m.Items[0].Tag, Kind: frozen.Shell})
		}
	}
	return edits
}
