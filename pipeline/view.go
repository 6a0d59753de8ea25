package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func (s *Session) view(p render.Profile, binds bool, head headChange) rule.View {
	v := rule.View{State: s.State.With(frozen.Additions{Head: head.head, Covered: head.keys}), ReclaimUpTo: s.Meta.ReclaimUpTo, Messages: make([]rule.Message, len(s.entries))}
	step, asked := 0, s.unansweredPrompt()
	for i := range s.entries {
		e := &s.entries[i]
		m := &v.Messages[i]
		if e.header.role == transcript.Assistant {
			step++
		}
		if i < head.covered && !e.staysBehind(v.State.Head) {
			m.Silent, m.Step = true, step
			continue
		}
		m.Items, m.Silent, m.IsAsked = e.items, e.traits.silent, i == asked
		if e.header.role == transcript.Assistant {
			m.Role, m.HidesCalls, m.KeepsCall = rule.Assistant, e.mayExposeCalls(p), s.hasToKeepCall(i, p, binds)
			mayLeave, mustStay := e.traits.leavesOut(p)
			mustStay = mustStay && !s.hasLostThinking(e)
			m.Thinks, m.HasUndroppable = mayLeave || e.traits.inlineThinking, e.traits.undroppable || mustStay
			m.Reasons, m.Signed = e.traits.plain || e.traits.signed, e.traits.signed
			isSent := sendsThinking(e, s.State) || !p.ForgetsReasoning // if both are false, the reasoning was removed with the last call
			m.LosesSpentThought = p.LeavesOutSpent(s.isForeign(e)) && m.Reasons && isSent && !s.hasLostThinking(e) && !e.traits.undroppable
			if mayLeave || m.LosesSpentThought {
				m.ThoughtTokens = s.thinkingOf(e, s.State) // thinking that is not sent frees no tokens
			}
		}
		m.Step = step
	}
	return v
}

func (s *memo) isForeign(e *entry) bool {
	wrote, asked := e.header.wrote, s.Model()
	return wrote.ID != "" && asked.ID != "" && wrote != asked
}

func (s *content) firstEdited(edits []frozen.Edit) int {
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

// floor returns the size that the prompt would have if a pass dropped every arc that it may drop: all arcs that are
// neither protected nor kept. `covered` is the number of leading messages that the head covers.
func (s *content) floor(current, covered int, k rule.Knobs) int {
	protectedFrom := rule.ProtectedFrom(s.State, k)
	for i := covered; i < len(s.entries); i++ {
		for _, it := range s.entries[i].items {
			u := s.State.ByTag(it.Tag)
			if u != nil && u.Kind == frozen.ToolUnit && u.Kept == 0 && it.Tag < protectedFrom {
				current -= u.Freed(frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
			}
		}
	}
	return max(0, current)
}
