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

type Wire struct {
	// Wire and Raw are the chains of the wire and of the raw array. They become part of the session's Meta once the pass
	// is committed.
	Wire, Raw Chain
	// Tokens is the size of the whole wire. PrefixTokens is the size of the prefix that it shares with the previous
	// wire.
	Tokens, PrefixTokens int
	// Bust means that the wire does not extend the previous one. BustCause says why.
	Bust      bool
	BustCause string
	// Rendered holds the messages that this pass rendered, in order, for the validator. Position says whether they
	// include the first and the last message of the wire.
	Rendered []render.Rendered
	Position render.Position
	// Setup is the setup of this rendering.
	Setup frozen.Setup
	// Token identifies the wire with its preamble. With the next pass, the client returns the token of the wire that it
	// has really sent. So the host knows which of its wires the provider has seen.
	Token string
	// Lost holds the keys of messages whose thinking this pass invalidates, because the prompt before it has changed.
	// LostBlocks is the number of invalidated thinking blocks, and LostTokens is their estimated size.
	Lost                   []string
	LostBlocks, LostTokens int

	anew map[int]render.Rendered
	// Err is the error of the first message that could not be patched. Such a message is sent raw.
	Err error
}

// Render renders the wire of a decision. It skips messages without new content and new edits. If the caller refuses the
// additions of d, it renders again with another decision.
func (s *memo) Render(d Decision) Wire {
	s.show(d.Additions.Additions)
	w := Wire{Setup: s.shown.Setup, anew: make(map[int]render.Rendered)}
	s.reframe()
	firstChanged := s.rendered
	isHeadNew := s.frameHead() || s.rendered == 0
	s.reviewEnd()
	slices.Sort(s.stale)
	for _, i := range slices.Compact(s.stale) {
		if i < s.rendered {
			s.unsettled = min(s.unsettled, i)
			if s.memorize(i, s.renderEntry(i), &w) {
				firstChanged = min(firstChanged, i)
			}
		}
	}
	s.stale = s.stale[:0]
	tail := make([]rendering, len(s.entries)-s.rendered)
	inParallel(len(tail), func(i int) {
		e := &s.entries[s.rendered+i]
		e.fused, e.unbound = false, s.isUnboundAtSight(e)
		tail[i] = s.renderEntry(s.rendered + i)
	})
	for i := range tail {
		s.memorize(s.rendered+i, tail[i], &w)
	}
	firstChanged = min(firstChanged, s.settle(min(s.unsettled, s.rendered), &w))
	s.rendered = len(s.entries)
	s.unsettled = s.rendered
	if n := len(s.entries); n > 0 {
		last := &s.entries[n-1]
		w.Wire, w.Raw, w.Tokens = last.wireChain, last.rawChain, last.tokensUpTo
		w.Token = token(promptID(s.frame.Preamble, w.Wire), s.newestNamed(n))
	}
	s.compare(d, &w, firstChanged)
	s.collect(&w, isHeadNew)
	return w
}

// collect collects the messages that this pass rendered, the head's first. It also finds out whether they include the
// first and the last message of the wire.
func (s *memo) collect(w *Wire, isHeadNew bool) {
	w.Rendered = make([]render.Rendered, 0, len(s.head.rendered)+len(w.anew))
	if isHeadNew {
		w.Rendered = append(w.Rendered, s.head.rendered...)
	}
	for _, i := range slices.Sorted(maps.Keys(w.anew)) {
		w.Rendered = append(w.Rendered, w.anew[i])
	}
	isVisible := func(i int) bool { return s.entries[i].hash != (render.Hash{}) }
	w.Position.First = isHeadNew
	if !s.head.of.Exists() {
		first := 0
		for first < len(s.entries) && !isVisible(first) {
			first++
		}
		_, w.Position.First = w.anew[first]
	}
	last := len(s.entries) - 1
	for last >= 0 && !isVisible(last) {
		last--
	}
	_, w.Position.Last = w.anew[last]
	_, w.Position.Continues = s.fusesBefore(last)
	w.Position.Binds = s.frame.Binds
	w.anew = nil
}

// A change of the session's setup makes renderings stale.
func (s *memo) reframe() {
	before, now := s.frame, s.shown.Setup
	isSameModel := s.framedFor == s.Model()
	s.frame, s.framedFor = now, s.Model()
	if s.rendered == 0 || before == now && isSameModel {
		return
	}
	if !isSameModel || before.Profile != now.Profile || before.Gaps != now.Gaps || before.Binds != now.Binds {
		s.rendered = 0
		return
	}
	if before.Preamble != now.Preamble {
		s.unsettled = 0
	}
	if before.Todo != now.Todo {
		for _, key := range []string{before.Todo.MessageKey, now.Todo.MessageKey} {
			if i, ok := s.index[key]; ok {
				s.stale = append(s.stale, i)
			}
		}
	}
}

// settle computes, from entry i on, everything that depends on earlier messages: joined answers, bound thinking, chains
// and sums. It returns the index of the first entry whose wire bytes changed.
func (s *memo) settle(i int, w *Wire) int {
	firstChanged := len(s.entries)
	fuses := !s.frame.Binds && render.ProfileNamed(s.frame.Profile).FusesAssistants
	fusesWithThis, rawFusesWithThis := s.fusesBefore(i) // the message before entry i
	before := &s.head.end
	if i > 0 {
		before = &s.entries[i-1]
	}
	for ; i < len(s.entries); i++ {
		e := &s.entries[i]
		if e.header.role == transcript.Assistant && (e.traits.plain || e.traits.signed) {
			fused := fuses && fusesWithThis && !rawFusesWithThis // the provider also joins some answers of the raw array
			unbound := s.frame.Binds && !s.holds(i, before.wireChain, w)
			if e.fused != fused || e.unbound != unbound {
				e.fused, e.unbound = fused, unbound
				if s.memorize(i, s.renderEntry(i), w) {
					firstChanged = min(firstChanged, i)
				}
			}
		}
		if e.hash != (render.Hash{}) {
			fusesWithThis = e.fusesWithNext
		}
		if e.rawHash != (render.Hash{}) {
			rawFusesWithThis = e.rawFusesWithNext
		}
		e.wireChain, e.rawChain = before.wireChain.next(e.hash), before.rawChain.next(e.rawHash)
		e.tokensUpTo = before.tokensUpTo + e.tokens
		before = e
	}
	return firstChanged
}

func (s *array) fusesBefore(i int) (onWire, inRaw bool) {
	for j := i - 1; j >= 0; j-- {
		if s.entries[j].hash != (render.Hash{}) {
			onWire = s.entries[j].fusesWithNext
			break
		}
	}
	for j := i - 1; j >= 0; j-- {
		if s.entries[j].rawHash != (render.Hash{}) {
			inRaw = s.entries[j].rawFusesWithNext
			break
		}
	}
	return onWire, inRaw
}

func (s *memo) RenderAnew(d Decision) Wire {
	s.rendered = 0
	return s.Render(d)
}

type rendering struct {
	render.Rendered
	patch         schema.Patch
	hash, rawHash render.Hash
	tokens        int
	spared        spared
	err           error
}

func (s *memo) renderEntry(i int) rendering {
	m := s.entries[i].decoded
	if m == nil {
		again := s.Codec.Decode(s.entries[i].raw)
		m = &again
	}
	var r rendering
	r.Raw = render.WireMessageOf(m)
	r.Wire = r.Raw
	keys := newUnitKeys(m)
	activeTokens, activeBytes := 0, 0
	f := s.frameOf(i)
	r.spared = spared{call: f.KeepsCall, text: f.KeepsText}
	r.patch = s.Patch(m, func(p *transcript.Part) *frozen.Unit {
		u := s.shown.ByKey(keys.of(p))
		if u != nil && u.Active() {
			activeTokens += u.Tokens + u.InputTokens
			activeBytes += u.Bytes + u.InputBytes
		}
		return u
	}, f)
	r.hash = r.Raw.Hash()
	r.rawHash = identified(r.hash, m)
	if s.entries[i].isMarker() { // only the harness uses the marker, so it is in neither array
		r.Raw, r.Wire = render.WireMessage{Key: m.Key, Role: m.Role}, render.WireMessage{Key: m.Key, Role: m.Role}
		r.hash, r.rawHash = render.Hash{}, render.Hash{}
		return r
	}
	if s.isCovered(i) {
		r.Wire, r.hash = render.WireMessage{Key: m.Key, Role: m.Role}, render.Hash{}
		return r
	}
	if len(r.patch) > 0 {
		patched, err := render.Apply(s.entries[i].raw, r.patch)
		if err != nil {
			r.patch, r.err = nil, err
		} else {
			pm := s.Codec.Decode(patched)
			r.Wire = render.WireMessageOf(&pm)
			r.hash = r.Wire.Hash()
		}
	}
	// The host has counted the tokens of active units only. The sizes of all other content, such as reasoning and
	// placeholders, and of shortened units are estimated from the bytes.
	r.tokens = max(0, activeTokens+(r.Wire.Bytes()-activeBytes)/BytesPerToken)
	return r
}

func (s *memo) frameOf(i int) render.Frame {
	e := &s.entries[i]
	f := render.Frame{
		Profile: render.ProfileNamed(s.frame.Profile), Gaps: s.frame.Gaps, Fused: e.fused,
		Binds: s.frame.Binds, Unbound: e.unbound, Foreign: s.isForeign(e), Marked: e.isMarker() || s.isBoundary(i),
	}
	spared := s.sparedOf(i)
	f.KeepsCall, f.KeepsText = spared.call, spared.text
	if t := s.frame.Todo; t.MessageKey != "" && t.MessageKey == e.header.key {
		f.Todo = todoCall(s.Codec, t)
	}
	return f
}

// The function `identified` adds to the hash of a raw message everything else on which its wire depends. So whenever
// the harness changes the wire of a message, its raw hash changes, too. `identified` adds:
//
//   - The ids of the message and its parts. A prompt that is reverted and typed
//     again has the same content, but new ids and therefore a new tag.
//   - Whether a call has a result. The wire shows a tag even in an empty result, but a missing result cannot show one.
//   - Whether the answer failed. If the host removes the last text or call of a failed answer, the harness leaves out
//     the whole answer. If the answer did not fail, the harness still sends the rest of it.
//   - Where a step of the answer starts.
func identified(h render.Hash, m *transcript.Message) render.Hash {
	if h == (render.Hash{}) {
		return h
	}
	ids := []byte(m.Key)
	if m.Errored {
		ids = append(ids, 0, 2) // no id begins with the byte 2, so this is never read as an id
	}
	for i := range m.Parts {
		if m.Parts[i].StartsStep {
			ids = append(ids, 0, 3)
		}
		if p := &m.Parts[i]; !p.Hidden {
			ids = append(append(ids, 0), p.ID...)
			if p.Kind == transcript.Tool && p.TextPath == "" {
				ids = append(ids, 0, 1)
			}
		}
	}
	sum := sha256.Sum256(ids)
	return h.Next(render.Hash(sum[:16]))
}

func (s *memo) memorize(i int, r rendering, w *Wire) bool {
	e := &s.entries[i]
	changed := e.hash != r.hash
	e.decoded, e.patch, e.hash, e.rawHash, e.tokens = nil, r.patch, r.hash, r.rawHash, r.tokens
	e.fusesWithNext, e.rawFusesWithNext, e.spared = r.Wire.FusesWithNext(), r.Raw.FusesWithNext(), r.spared
	s.unsent[e.header.key] = true
	if !s.isCovered(i) {
		w.anew[i] = r.Rendered
	}
	w.Err = cmp.Or(w.Err, r.err)
	return changed
}

func (s *memo) compare(d Decision, w *Wire, firstChanged int) {
	last := s.Meta.Wire
	if last.Messages == 0 {
		return
	}
	if i, ok := s.at(last, func(e *entry) Chain { return e.wireChain }); ok {
		w.PrefixTokens = s.entries[i].tokensUpTo
		return
	}
	w.Bust = true
	switch before := s.State.Head; {
	case before != s.head.of:
		w.PrefixTokens = s.head.prefixIn(before)
	case firstChanged > 0:
		w.PrefixTokens = s.entries[firstChanged-1].tokensUpTo
	default:
		w.PrefixTokens = s.head.end.tokensUpTo
	}
	_, rawStands := s.at(s.Meta.Raw, func(e *entry) Chain { return e.rawChain })
	switch {
	case d.Verdict != schema.Steady:
		w.BustCause = string(d.Cause)
	case !rawStands && s.TookBack() && s.compactedAt() <= s.Meta.At: // a compaction takes the newest request, too
		w.BustCause = string(CauseReverted)
	case !rawStands:
		w.BustCause = BustTranscript
	default:
		w.BustCause = BustUnexplained
	}
}

// at returns the index of the last message that the chain c covers. If no entry has exactly this chain, it returns
// false.
func (s *array) at(c Chain, chainOf func(*entry) Chain) (int, bool) {
	i, found := slices.BinarySearchFunc(s.entries, c.Messages, func(e entry, n int) int {
		return cmp.Compare(chainOf(&e).Messages, n)
	})
	return i, found && chainOf(&s.entries[i]) == c
}

// Mutation returns the patches that the client does not have yet, and the keys of messages whose patch it must remove.
// It records that the client has them, so the client must receive this answer.
func (s *memo) Mutation() (edits map[string]schema.Patch, cleared []string) {
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
	// clear(s.unsent) would take time in proportion to the largest size that the map ever had. After a resync, this is
	// the whole session.
	s.unsent = make(map[string]bool)
	slices.Sort(cleared)
	return edits, cleared
}

func samePatchOp(a, b schema.PatchOp) bool {
	return a.Op == b.Op && a.Path == b.Path && string(a.Value) == string(b.Value)
}
