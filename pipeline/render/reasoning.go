package render

import "github.com/magicctx/magicctx-host/pipeline/transcript"

// reasoning decides which thinking is removed. It runs after all other removals, because the remaining parts decide
// which thinking the provider accepts.
func (r *messageRenderer) reasoning() {
	if r.unthought {
		r.removeReasoning(r.Profile.LeavesOut)
		if r.Profile.LeavesOutSpent(r.Foreign) && r.isSpent() {
			r.removeReasoning(func(*transcript.Part) bool { return true })
		}
	}
	switch {
	case r.m.Role != transcript.Assistant:
	case r.Binds:
		r.removeUnbound()
	case r.Profile.FusesAssistants:
		r.removeFused()
	}
}

// removeLoneReasoning removes reasoning if nothing is left between it and the next reasoning or the next step. OpenAI
// refuses a reasoning item without the item that follows it. For example, suppose that an answer is `reasoning, text,
// reasoning, call`, and that its call is removed. Then the second reasoning item must be removed, too.
func (r *messageRenderer) removeLoneReasoning() {
	leads := false
	for i := len(r.m.Parts) - 1; i >= 0; i-- {
		p := &r.m.Parts[i]
		isGroupStart := i == 0 || r.m.Parts[i-1].Kind != transcript.Reasoning
		switch {
		case p.Kind == transcript.Reasoning:
			r.removed[i] = r.removed[i] || !leads
			if isGroupStart {
				leads = false
			}
		case p.StartsStep:
			leads = false
		case !p.Hidden && !r.removed[i]:
			leads = true
		}
	}
}

func (r *messageRenderer) removeReasoning(which func(*transcript.Part) bool) {
	for i := range r.m.Parts {
		if p := &r.m.Parts[i]; p.Kind == transcript.Reasoning && which(p) {
			r.removed[i] = true
		}
	}
}

// thinksAfter reports whether signed thinking follows part i in its message.
func (r *messageRenderer) thinksAfter(i int) bool {
	for j := i + 1; j < len(r.m.Parts); j++ {
		if p := &r.m.Parts[j]; p.Kind == transcript.Reasoning && p.Signature != nil {
			return true
		}
	}
	return false
}

func (r *messageRenderer) isSpent() bool {
	for i := range r.m.Parts {
		p, u := &r.m.Parts[i], r.units[i]
		isGone := p.Hidden || r.removed[i] || p.Kind == transcript.Reasoning || p.Kind != transcript.Tool && u != nil && !u.Active()
		if !isGone {
			return false
		}
	}
	return true
}

// removeUnbound removes thinking that the model would reject because its prompt has changed. If the change is before
// the message, removeUnbound removes all thinking of the message. If the change is in the message, it removes the
// thinking after the change. If the message contains a second answer, it also removes the thinking of this answer,
// because the host does not know to which prompt it is bound.
func (r *messageRenderer) removeUnbound() {
	gone, steps := r.Unbound, 0
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		if p.StartsStep {
			steps++
		}
		gone = gone || steps > 1
		if p.Kind == transcript.Reasoning && gone {
			r.removed[i] = true
		}
		gone = gone || r.changed[i] || r.removed[i] && !p.Hidden
	}
}

// removeFused removes the thinking of an answer that the provider joins with the answer before it. This happens if the
// host has removed the tool results between the two. The thinking would then come after a text, which the provider
// refuses. If the provider joins the two answers even in the raw array, the thinking stays.
func (r *messageRenderer) removeFused() {
	continues, rawContinues := r.Fused, false
	for start := 0; start < len(r.m.Parts); {
		end := start + 1
		for end < len(r.m.Parts) && !r.m.Parts[end].StartsStep {
			end++
		}
		left, raw := r.answer(start, end)
		if continues && !rawContinues {
			for i := start; i < end; i++ {
				r.removed[i] = r.removed[i] || r.m.Parts[i].Kind == transcript.Reasoning
			}
			left, _ = r.answer(start, end)
		}
		// The provider does not see an answer without visible parts. So after such an answer, `continues` and
		// `rawContinues` keep the values from the last visible answer.
		if left != nothing {
			continues = left == open
		}
		if raw != nothing {
			rawContinues = raw == open
		}
		start = end
	}
}

// An ending says how an answer ends for the provider.
type ending uint8

const (
	nothing ending = iota // the provider sees nothing of the answer
	open                  // the next answer continues this one
	closed                // the results of the answer's calls follow
)

// answer examines the answer that consists of the parts from start up to, but not including, end. `left` says how the
// answer ends on the wire, and `raw` says how it ends in the raw array.
func (r *messageRenderer) answer(start, end int) (left, raw ending) {
	for i := start; i < end; i++ {
		p := &r.m.Parts[i]
		if p.Hidden {
			continue
		}
		is := open
		if p.Kind == transcript.Tool {
			is = closed
		}
		raw = max(raw, is)
		if !r.removed[i] {
			left = max(left, is)
		}
	}
	return left, raw
}
