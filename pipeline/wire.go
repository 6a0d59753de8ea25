package pipeline

import (
	"cmp"
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
		if i < s.rendered && s.renderEntry(i, &w) {
			firstChanged = min(firstChanged, i)
		}
	}
	s.stale = s.stale[:0]
	for i := s.rendered; i < len(s.entries); i++ {
		s.renderEntry(i, &w)
	}
	s.link(firstChanged)
	s.rendered = len(s.entries)
	w.Position.Last = true
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

// renderEntry renders one message and reports whether its wire bytes changed.
func (s *Session) renderEntry(i int, w *Wire) bool {
	e := &s.entries[i]
	m := s.Codec.Decode(e.raw)
	raw := render.Wire(&m)
	wire := raw
	keys := newUnitKeys(&m)
	activeTokens, activeBytes := 0, 0
	e.patch = s.Patch(&m, func(p *transcript.Part) *frozen.Unit {
		u := s.State.ByKey(keys.of(p))
		if u != nil && u.Active() {
			activeTokens += u.Tokens + u.InputTokens
			activeBytes += u.Bytes + u.InputBytes
		}
		return u
	})
	if len(e.patch) > 0 {
		patched, err := render.Apply(e.raw, e.patch)
		if err != nil {
			e.patch = nil
			w.Err = cmp.Or(w.Err, err)
		} else {
			pm := s.Codec.Decode(patched)
			wire = render.Wire(&pm)
		}
	}
	s.unsent[m.Key] = true
	before := e.hash
	e.hash, e.rawHash, e.bytes = wire.Hash(), raw.Hash(), wire.Bytes()
	// What no unit has counted (reasoning, placeholders) is taken at four
	// bytes a token.
	e.tokens = activeTokens + max(0, e.bytes-activeBytes)/4
	w.Rendered = append(w.Rendered, render.Rendered{Raw: raw, Wire: wire})
	w.Position.First = w.Position.First || i == 0
	return before != e.hash
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
		case len(patch) > 0 && !(holds && slices.EqualFunc(held, patch, samePatchOp)):
			edits[key], s.sent[key] = patch, patch
		}
	}
	clear(s.unsent)
	slices.Sort(cleared)
	return edits, cleared
}

func samePatchOp(a, b schema.PatchOp) bool {
	return a.Op == b.Op && a.Path == b.Path && string(a.Value) == string(b.Value)
}
