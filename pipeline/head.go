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
	// end holds the chain and the sums after the head's messages. The first entry
	// continues from there.
	end entry
}

// frameHead renders the head of the shown state, and marks the messages that it covers,
// or no longer covers, for rendering. It reports whether the head's messages changed.
func (s *Session) frameHead() bool {
	covered := s.coveredBy(s.shown.Head)
	for i := min(covered, s.covered); i < min(max(covered, s.covered), s.rendered); i++ {
		s.stale = append(s.stale, i)
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
		m.end.bytesUpTo += wire.Bytes()
		// The harness has no such message, so the raw one is empty.
		m.rendered = append(m.rendered, render.Rendered{Raw: render.WireMessage{Key: wire.Key, Role: wire.Role}, Wire: wire})
	}
}

// breakpoint returns the breakpoint that the acknowledgement may carry. The harness sets
// one on each block of the system prompt and two on the newest messages, so if the system
// prompt has several blocks, ours is one too many, and the newest message would lose its
// breakpoint.
func (s *Session) breakpoint() transcript.Breakpoint {
	p := render.ProfileNamed(s.shown.Setup.Profile)
	if max(1, s.SystemBlocks)+harnessBreakpoints >= p.Breakpoints {
		return transcript.NoBreakpoint
	}
	return p.BreakpointFor(s.Model().ID)
}

// harnessBreakpoints is the number of breakpoints that a harness sets after the system
// prompt: two on the newest messages, or one there and one on the tools.
const harnessBreakpoints = 2

// coveredBy returns how many messages at the beginning of the array the head covers. It
// returns 0 if a revert has taken the newest covered message, or if the array begins
// after that message, for example because the harness has compacted.
func (s *Session) coveredBy(h frozen.Head) int {
	if i, ok := s.index[h.Through]; ok && h.Exists() {
		return i + 1
	}
	return 0
}

// isReverted reports whether a revert has taken messages that the head covers.
func (s *Session) isReverted(h frozen.Head) bool {
	return h.Exists() && len(s.entries) > 0 && !s.Has(h.Through) && !s.beginsBehind(h.ThroughTag)
}

// beginsBehind reports whether the array begins after the unit with this tag, because the
// harness has cut it, for example at a compaction. Such an array has units of earlier
// passes, or a summary. After a revert of everything, all of its units are new.
func (s *Session) beginsBehind(tag int) bool {
	isCut := false
	for i := range s.entries {
		e := &s.entries[i]
		if len(e.items) > 0 && e.items[0].Tag <= tag {
			return false
		}
		isCut = isCut || e.header.summary || len(e.items) > 0 && e.items[0].Tag < s.freshFrom
	}
	return isCut
}

// HeadMutation returns how many messages at the beginning of the array are cut off, and
// the head's messages if the client does not hold them yet. isCleared says that the client
// must forget the head that it holds. HeadMutation assumes that the client receives the
// answer.
func (s *Session) HeadMutation() (start int, messages []json.Value, isCleared bool) {
	if !slices.EqualFunc(s.sentHead, s.head.raws, func(a, b json.Value) bool { return string(a) == string(b) }) {
		messages, isCleared = s.head.raws, len(s.head.raws) == 0
		s.sentHead = s.head.raws
	}
	return s.covered, messages, isCleared
}

// prefixIn returns how many tokens at the beginning of the wire the head shares with the
// head of the last committed pass.
func (m *headMemo) prefixIn(before frozen.Head) int {
	switch {
	case !before.Exists() || before.Baseline != m.of.Baseline || before.Acknowledgement != m.of.Acknowledgement:
		return 0
	case before.Delta != m.of.Delta:
		return m.of.BaselineTokens
	}
	return m.of.Tokens()
}
