package pipeline

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A Wire is what a pass sends, and how it compares with what was sent before.
type Wire struct {
	// Wire and Raw become the session's Meta once the pass is committed.
	Wire, Raw Chain
	// Tokens and Bytes are those of the whole wire; PrefixTokens those of the
	// part that the last wire began with, unchanged.
	Tokens, Bytes, PrefixTokens int
	// Bust says that the wire is no extension of the last one, BustCause why.
	Bust      bool
	BustCause string
	// Rendered are the messages that were rendered anew, in their order, for the
	// validator, and Position says which ends of the wire they reach.
	Rendered []render.Rendered
	Position render.Position
	anew     map[int]render.Rendered
	// Err is the first message that could not be patched; it stays raw.
	Err error
}

// Render renders the transcript with the frozen state. Messages that neither
// is new in are not opened.
func (s *Session) Render(d Decision) Wire {
	w := Wire{anew: make(map[int]render.Rendered)}
	s.reframe()
	firstChanged := s.rendered
	slices.Sort(s.stale)
	firstStale := len(s.entries)
	for _, i := range slices.Compact(s.stale) {
		if i < s.rendered {
			firstStale = min(firstStale, i)
			if s.keep(i, s.renderEntry(i, s.entries[i].fused), &w) {
				firstChanged = min(firstChanged, i)
			}
		}
	}
	s.stale = s.stale[:0]
	tail := make([]rendering, len(s.entries)-s.rendered)
	inParallel(len(tail), func(i int) { tail[i] = s.renderEntry(s.rendered+i, false) })
	for i := range tail {
		s.entries[s.rendered+i].fused = false
		s.keep(s.rendered+i, tail[i], &w)
	}
	firstChanged = min(firstChanged, s.fuse(min(firstStale, s.rendered), &w))
	s.link(firstChanged)
	s.rendered = len(s.entries)
	if n := len(s.entries); n > 0 {
		last := &s.entries[n-1]
		w.Wire, w.Raw, w.Tokens, w.Bytes = last.wire, last.rawChain, last.tokensUpTo, last.bytesUpTo
	}
	s.compare(d, &w, firstChanged)
	s.collect(&w)
	return w
}

// collect orders what was rendered anew, and finds out whether it holds the
// first and the last message that the provider sees.
func (s *Session) collect(w *Wire) {
	w.Rendered = make([]render.Rendered, 0, len(w.anew))
	for _, i := range slices.Sorted(maps.Keys(w.anew)) {
		w.Rendered = append(w.Rendered, w.anew[i])
	}
	isVisible := func(e entry) bool { return e.hash != (render.Hash{}) }
	_, w.Position.First = w.anew[slices.IndexFunc(s.entries, isVisible)]
	for i := len(s.entries) - 1; i >= 0; i-- {
		if isVisible(s.entries[i]) {
			_, w.Position.Last = w.anew[i]
			break
		}
	}
	w.anew = nil
}

// reframe finds what the session's setup changes about renderings that stand.
func (s *Session) reframe() {
	before, now := s.frame, s.State.Setup
	s.frame = now
	switch {
	case s.rendered == 0 || before == now:
	case before.Profile != now.Profile || before.Gaps != now.Gaps:
		s.rendered = 0
	case before.Todo != now.Todo:
		for _, key := range []string{before.Todo.MessageKey, now.Todo.MessageKey} {
			if i, ok := s.index[key]; ok {
				s.stale = append(s.stale, i)
			}
		}
	}
}

// fuse renders again, from entry i on, what turns out to continue the assistant
// message before it, or no longer does so, for a provider to which that matters.
// It returns the first entry whose wire bytes that changed.
func (s *Session) fuse(i int, w *Wire) int {
	firstChanged := len(s.entries)
	if !render.ProfileNamed(s.frame.Profile).FusesAssistants {
		return firstChanged
	}
	joins := false
	for j := i - 1; j >= 0; j-- {
		if s.entries[j].hash != (render.Hash{}) {
			joins = s.entries[j].joins
			break
		}
	}
	for ; i < len(s.entries); i++ {
		e := &s.entries[i]
		if e.fused != joins && e.head.role == transcript.Assistant {
			e.fused = joins
			if e.look.plain || e.look.signed {
				if s.keep(i, s.renderEntry(i, joins), w) {
					firstChanged = min(firstChanged, i)
				}
			}
		}
		if e.hash != (render.Hash{}) {
			joins = e.joins
		}
	}
	return firstChanged
}

// RenderAnew renders every message again, for when a rendering turned out to be
// wrong.
func (s *Session) RenderAnew(d Decision) Wire {
	s.rendered = 0
	return s.Render(d)
}

// A rendering is one message, rendered.
type rendering struct {
	render.Rendered
	patch         schema.Patch
	hash, rawHash render.Hash
	tokens, bytes int
	err           error
}

// renderEntry renders one message. It reads the session and changes nothing.
func (s *Session) renderEntry(i int, fused bool) rendering {
	m := s.entries[i].decoded
	if m == nil {
		again := s.Codec.Decode(s.entries[i].raw)
		m = &again
	}
	var r rendering
	r.Raw = render.Wire(m)
	r.Wire = r.Raw
	keys := newUnitKeys(m)
	activeTokens, activeBytes := 0, 0
	r.patch = s.Patch(m, func(p *transcript.Part) *frozen.Unit {
		u := s.State.ByKey(keys.of(p))
		if u != nil && u.Active() {
			activeTokens += u.Tokens + u.InputTokens
			activeBytes += u.Bytes + u.InputBytes
		}
		return u
	}, s.frameOf(i, fused))
	r.hash = r.Raw.Hash()
	r.rawHash = identified(r.hash, m)
	if len(r.patch) > 0 {
		patched, err := render.Apply(s.entries[i].raw, r.patch)
		if err != nil {
			r.patch, r.err = nil, err
		} else {
			pm := s.Codec.Decode(patched)
			r.Wire = render.Wire(&pm)
			r.hash = r.Wire.Hash()
		}
	}
	r.bytes = r.Wire.Bytes()
	// What no unit has counted (reasoning, placeholders) is taken at four
	// bytes a token, and so is what was shortened.
	r.tokens = max(0, activeTokens+(r.bytes-activeBytes)/4)
	return r
}

// frameOf is what entry i is rendered in.
func (s *Session) frameOf(i int, fused bool) render.Frame {
	f := render.Frame{Profile: render.ProfileNamed(s.frame.Profile), Gaps: s.frame.Gaps, Fused: fused}
	if t := s.frame.Todo; t.MessageKey != "" && t.MessageKey == s.entries[i].head.key {
		f.Todo = todoPart(s.Codec, t)
	}
	return f
}

// joins reports whether the provider takes an assistant message that follows w
// for a part of it.
func joins(w *render.WireMessage) bool {
	n := len(w.Blocks)
	return n > 0 && w.Role == transcript.Assistant && w.Blocks[n-1].Kind != render.ResultBlock
}

// identified adds to the hash of a raw message the ids that its units are found
// by: a reverted prompt that is typed again looks the same and is another one,
// with another tag.
func identified(h render.Hash, m *transcript.Message) render.Hash {
	if h == (render.Hash{}) {
		return h
	}
	ids := []byte(m.Key)
	for i := range m.Parts {
		if p := &m.Parts[i]; !p.Hidden {
			ids = append(append(ids, 0), p.ID...)
		}
	}
	sum := sha256.Sum256(ids)
	return h.Next(render.Hash(sum[:16]))
}

// keep makes a rendering the memo of its message, and reports whether its wire
// bytes changed.
func (s *Session) keep(i int, r rendering, w *Wire) bool {
	e := &s.entries[i]
	changed := e.hash != r.hash
	e.decoded, e.patch, e.hash, e.rawHash, e.tokens, e.bytes = nil, r.patch, r.hash, r.rawHash, r.tokens, r.bytes
	e.joins = joins(&r.Wire)
	s.unsent[e.head.key] = true
	w.anew[i] = r.Rendered
	w.Err = cmp.Or(w.Err, r.err)
	return changed
}

// link recomputes chains and sums from entry i on.
func (s *Session) link(i int) {
	var before entry
	if i > 0 {
		before = s.entries[i-1]
	}
	for ; i < len(s.entries); i++ {
		e := &s.entries[i]
		e.wire, e.rawChain = before.wire.next(e.hash), before.rawChain.next(e.rawHash)
		e.tokensUpTo, e.bytesUpTo = before.tokensUpTo+e.tokens, before.bytesUpTo+e.bytes
		before = *e
	}
}

// compare finds out whether the wire extends the last one.
func (s *Session) compare(d Decision, w *Wire, firstChanged int) {
	last := s.Meta.Wire
	if last.Messages == 0 {
		return
	}
	if i, ok := s.at(last, func(e *entry) Chain { return e.wire }); ok {
		w.PrefixTokens = s.entries[i].tokensUpTo
		return
	}
	w.Bust = true
	if firstChanged > 0 {
		w.PrefixTokens = s.entries[firstChanged-1].tokensUpTo
	}
	_, rawStands := s.at(s.Meta.Raw, func(e *entry) Chain { return e.rawChain })
	switch {
	case d.Verdict != schema.Steady:
		w.BustCause = string(d.Cause)
	case !rawStands:
		w.BustCause = BustTranscript
	default:
		w.BustCause = BustUnexplained
	}
}

// at returns the first entry up to which the messages form the chain c.
func (s *Session) at(c Chain, chainOf func(*entry) Chain) (int, bool) {
	i, found := slices.BinarySearchFunc(s.entries, c.Messages, func(e entry, n int) int {
		return cmp.Compare(chainOf(&e).Messages, n)
	})
	return i, found && chainOf(&s.entries[i]) == c
}

// Mutation returns the patches that the client does not hold yet and the
// messages whose patch it must forget, and takes it that the client gets them.
func (s *Session) Mutation() (edits map[string]schema.Patch, cleared []string) {
	edits = make(map[string]schema.Patch)
	for key := range s.unsent {
		var patch schema.Patch
		if i, ok := s.index[key]; ok {
			patch = s.entries[i].patch
		}
		held, holds := s.sent[key]
		switch {
		case len(patch) == 0 && holds:
			delete(s.sent, key)
			cleared = append(cleared, key)
		case len(patch) > 0 && (!holds || !slices.EqualFunc(held, patch, samePatchOp)):
			edits[key], s.sent[key] = patch, patch
		}
	}
	// Not cleared: clearing a map costs what it once held, which after a resync
	// is the session.
	s.unsent = make(map[string]bool)
	slices.Sort(cleared)
	return edits, cleared
}

func samePatchOp(a, b schema.PatchOp) bool {
	return a.Op == b.Op && a.Path == b.Path && string(a.Value) == string(b.Value)
}
