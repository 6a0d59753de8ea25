package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A headMemo is the rendering of the head, in the harness's format.
type headMemo struct {
	of    frozen.Head
	model schema.Model
	// point is the breakpoint of the acknowledgement.
	point    transcript.Breakpoint
	raws     []json.Value
	rendered []render.Rendered
	// The first entry continues from end.
	end entry
}

// If a message is now covered by the head and was not before, or the other way round, frameHead marks it to be rendered
// again. frameHead reports whether the messages of the head itself have changed.
func (s *memo) frameHead() bool {
	covered := s.coveredBy(s.shown.Head)
	for i := min(covered, s.covered); i < min(max(covered, s.covered), s.rendered); i++ {
		s.stale = append(s.stale, i)
	}
	if before, now := s.head.of.Pinned, s.shown.Head.Pinned; before != now {
		s.unsettled = 0
		for _, key := range slices.Concat(before[:], now[:]) {
			if i, ok := s.index[key]; ok && i < s.rendered {
				s.stale = append(s.stale, i)
			}
		}
	}
	if covered != s.covered {
		s.unsettled = 0
	}
	s.covered = covered
	memo := headMemo{of: s.shown.Head, model: s.Model(), point: s.breakpoint()}
	if memo.of == s.head.of && memo.model == s.head.model && memo.point == s.head.point {
		return false
	}
	if memo.of.Exists() {
		memo.render(s.Codec)
	}
	isNew := memo.end.wireChain != s.head.end.wireChain
	if isNew {
		s.unsettled = 0
	}
	s.head = memo
	return isNew
}

func (m *headMemo) render(codec transcript.Codec) {
	m.raws = codec.Head(transcript.Head{
		Baseline: m.of.Baseline, Acknowledgement: m.of.Acknowledgement, Delta: m.of.Delta, Model: m.model, Breakpoint: m.point,
	})
	m.end.tokensUpTo = m.of.Tokens()
	for _, raw := range m.raws {
		decoded := codec.Decode(raw)
		wire := render.WireMessageOf(&decoded)
		m.end.wireChain = m.end.wireChain.next(wire.Hash())
		// The harness has no such message, so the raw message is empty.
		m.rendered = append(m.rendered, render.Rendered{Raw: render.WireMessage{Key: wire.Key, Role: wire.Role}, Wire: wire})
	}
}

// The method `breakpoint` returns the head's cache breakpoint, or none. A provider allows only a few breakpoints in a
// request. The harness sets one on each block of the system prompt, and harnessBreakpoints more. If the system prompt
// has several blocks, the provider may allow no further breakpoint. A breakpoint on the head would then displace the
// harness's breakpoint on the newest message.
func (s *memo) breakpoint() transcript.Breakpoint {
	p := render.ProfileNamed(s.shown.Setup.Profile)
	if max(1, s.SystemBlocks)+harnessBreakpoints >= p.Breakpoints {
		return transcript.NoBreakpoint
	}
	return p.BreakpointFor(s.Model().ID)
}

// harnessBreakpoints is how many breakpoints a harness sets besides those on the system prompt. There are two: on the
// newest two messages, or on the newest message and the tools.
const harnessBreakpoints = 2

// coveredBy returns how many leading messages the head covers, including pinned prompts. It returns 0 if the array does
// not contain the newest covered message.
func (s *array) coveredBy(h frozen.Head) int {
	if i, ok := s.index[h.Through]; ok && h.Exists() {
		return i + 1
	}
	return 0
}

func (s *memo) isCovered(i int) bool {
	return i < s.covered && !s.entries[i].staysBehind(s.shown.Head)
}

func (e *entry) staysBehind(h frozen.Head) bool { return e.header.stays || h.Pins(e.header.key) }

// isReverted reports whether a revert has removed the last message that the head covers. This message can also be
// missing because a summary or a marker hides it, but in that case all covered messages are missing. So if an earlier
// covered message is still in the array, the reason was a revert, for example to another branch in Pi.
func (s *content) isReverted(h frozen.Head) bool {
	if h.Ordinal == 0 || len(s.entries) == 0 || s.Has(h.Through) {
		return false
	}
	if slices.ContainsFunc(s.entries, func(e entry) bool { return s.State.Covers(e.header.key) }) {
		return true
	}
	summary := s.SummaryKey()
	return !s.isBoundary(0) && (summary == "" || summary == h.AfterSummary)
}

// Summary returns the key and the text of the harness's newest summary. If the host's marker is newer, the text is
// empty. Summary decodes the message again, so it is too slow for a pass.
func (s *Session) Summary() (key, text string) {
	i, ok := s.index[s.SummaryKey()]
	if !ok || s.entries[i].isMarker() {
		return s.SummaryKey(), ""
	}
	m := s.Codec.Decode(s.entries[i].raw)
	for _, p := range m.Parts {
		if p.Kind == transcript.Text && !p.Hidden {
			text += p.Text
		}
	}
	return m.Key, text
}

// SummaryKey returns the key of the newest summary by the harness or of the host's marker. If there is neither, it
// returns "".
func (s *array) SummaryKey() string {
	if n := len(s.entries); n > 0 {
		return s.entries[n-1].header.newestSummary
	}
	return ""
}

// HeadMutation returns how the client must change the beginning of its array. The client removes the first `start`
// messages, except the pinned ones, and then puts `messages` in front. If isCleared is set, there is no head any
// longer, and the client puts nothing in front. If the result has neither messages nor isCleared, the client's head is
// still the right one. HeadMutation records that the client knows the change, so the caller must send this answer.
func (s *memo) HeadMutation() (start int, pinned []string, messages []json.Value, isCleared bool) {
	if !slices.EqualFunc(s.sentHead, s.head.raws, func(a, b json.Value) bool { return string(a) == string(b) }) {
		messages, isCleared = s.head.raws, len(s.head.raws) == 0
		s.sentHead = s.head.raws
	}
	for _, key := range s.shown.Head.Pinned {
		if i, ok := s.index[key]; ok && i < s.covered && key != "" { // an unreadable message has no key
			pinned = append(pinned, key)
		}
	}
	for i := range s.covered {
		if h := &s.entries[i].header; h.stays && h.key != "" {
			pinned = append(pinned, h.key)
		}
	}
	return s.covered, pinned, messages, isCleared
}

// prefixIn returns how many leading tokens of the head are the same as in the head of the last committed pass.
func (m *headMemo) prefixIn(before frozen.Head) int {
	switch {
	case !before.Exists() || before.Baseline != m.of.Baseline || before.Acknowledgement != m.of.Acknowledgement:
		return 0
	case before.Delta != m.of.Delta:
		return m.of.BaselineTokens
	}
	return m.of.Tokens()
}
