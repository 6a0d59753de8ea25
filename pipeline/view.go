package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// view is what the rules may look at.
func (s *Session) view(p render.Profile) rule.View {
	v := rule.View{State: s.State, Messages: make([]rule.Message, len(s.entries))}
	step := 0
	for i := range s.entries {
		e := &s.entries[i]
		m := &v.Messages[i]
		m.Items = e.items
		if e.head.role == transcript.Assistant {
			step++
			m.Role = rule.Assistant
			leaves, keeps := e.look.leavesOut(p)
			m.Thinks, m.Solid = leaves || e.look.aloud, e.look.solid || keeps
			if leaves {
				m.ThoughtTokens = e.look.thought / bytesPerToken
			}
		}
		m.Step = step
	}
	return v
}

// bytesPerToken is what content weighs that no unit has counted.
const bytesPerToken = 4

// firstEdited returns the first message that edits change.
func (s *Session) firstEdited(edits []frozen.Edit) int {
	first := len(s.entries)
	for _, e := range edits {
		if u := s.State.ByTag(e.Tag); u != nil {
			if i, ok := s.index[u.MessageKey]; ok {
				first = min(first, i)
			}
		}
	}
	return first
}

// floor returns what the prompt would weigh if every tool arc that age does not
// protect were dropped.
func (s *Session) floor(current int, k rule.Knobs) int {
	protectedFrom := rule.ProtectedFrom(s.State, k)
	for i := range s.entries {
		for _, it := range s.entries[i].items {
			u := s.State.ByTag(it.Tag)
			if u != nil && u.Kind == frozen.ToolUnit && it.Tag < protectedFrom {
				current -= u.Freed(frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
			}
		}
	}
	return max(0, current)
}
