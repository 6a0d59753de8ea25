package rule

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// EmptyShells marks assistant messages that hold only placeholders, or only an old notice of the harness. It runs last,
// because the other rules decide which content is left. It never marks a user message: without that message, the
// provider would join the answers before and after it (bug class B2 in docs/defects.md).
//
// Nor does it mark the last answer of a turn if the session has reasoning, or if the answer comes after calls. The user
// may later revert all messages after this answer. If the answer had been removed, a step with calls could then be the
// last answer, and Anthropic would reject the request unless this step begins with thinking.
func EmptyShells(v View, k Knobs) []frozen.Edit {
	var edits []frozen.Edit
	noticesUpTo := len(v.Messages) - 2*k.ProtectedTags
	reasons := slices.ContainsFunc(v.Messages, func(m Message) bool { return m.Reasons })
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Role != Assistant || m.HasUndroppable || len(m.Items) == 0 || (reasons || m.HidesCalls) && v.endsTurn(i) {
			continue
		}
		if tag := v.shellOf(m, i < noticesUpTo && !m.Thinks); tag > 0 {
			edits = append(edits, frozen.Edit{Tag: tag, Kind: frozen.Shell})
		}
	}
	return edits
}

func (v View) endsTurn(i int) bool {
	for _, m := range v.Messages[i+1:] {
		if !m.Silent {
			return m.Role == User
		}
	}
	return true
}

// shellOf returns the tag of the message's first text, where the shell edit is stored. If the message has any content
// besides placeholders, shellOf returns 0. If noticesCount is true, a message that holds only notices of the harness is
// a shell, too.
func (v View) shellOf(m *Message, noticesCount bool) int {
	tag, dropped, notices := 0, true, noticesCount
	for _, it := range m.Items {
		u := v.State.ByTag(it.Tag)
		switch {
		case u == nil || u.IsShell || u.Kept != 0:
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
