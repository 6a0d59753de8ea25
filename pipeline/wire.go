package pipeline

import (
	"cmp"
	"crypto/sha256"
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
	// Rendered are the messages that were rendered anew, for the validator,
	// and Position where they stand.
	Rendered []render.Rendered
	Position render.Position
	// Err is the first message that could not be patched; it stays raw.
	Err error
}

// Render renders the transcript with the frozen state. Messages that neither
// is new in are not opened.
func (s *Session) Render(d Decision) Wire {
	var w Wire
	firstChanged := s.rendered
	slices.Sort(s.stale)
	for _, i := range slices.Compact(s.stale) {
		if i < s.rendered && s.keep(i, s.renderEntry(i), &w) {
			firstChanged = min(firstChanged, i)
		}
	}
	s.stale = s.stale[:0]
	tail := make([]rendering, len(s.entries)-s.rendered)
	inParallel(len(tail), func(i int) { tail[i] = s.renderEntry(s.rendered + i) })
	for i := range tail {
		s.keep(s.rendered+i, tail[i], &w)
	}
	s.link(firstChanged)
	s.rendered = len(s.entries)
	if n := len(s.entries); n > 0 {
		last := &s.entries[n-1]
		w.Wire, w.Raw, w.Tokens, w.Bytes = last.wire, last.rawChain, last.tokensUpTo, last.bytesUpTo
	}
	s.compare(d, &w, firstChanged)
	return w
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
func (s *Session) renderEntry(i int) rendering {
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
	})
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
	// bytes a token.
	r.tokens = activeTokens + max(0, r.bytes-activeBytes)/4
	return r
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
	s.unsent[e.head.key] = true
	w.Rendered = append(w.Rendered, r.Rendered)
	w.Position.First = w.Position.First || i == 0
	w.Position.Last = w.Position.Last || i == len(s.entries)-1
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
