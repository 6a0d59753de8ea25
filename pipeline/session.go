package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Meta is what a session remembers of its last pass, across restarts.
type Meta struct {
	// Passes counts the passes, Epoch the hard ones.
	Passes, Epoch int
	// At is when the last pass was, Unix milliseconds.
	At int64
	// Model is the one that the last pass was for.
	Model schema.Model
	// Wire and Raw identify what was sent last and what it was made from.
	Wire, Raw Chain
	Episode   Episode
}

// A Chain identifies a sequence of messages that a provider sees.
type Chain struct {
	Messages int
	Hash     render.Hash
}

// next returns the chain with one more message; nothing changes for a message
// that the provider does not see.
func (c Chain) next(h render.Hash) Chain {
	if h == (render.Hash{}) {
		return c
	}
	return Chain{c.Messages + 1, c.Hash.Next(h)}
}

// Config is fixed for a session.
type Config struct {
	render.Options
	// CountText returns the tokens of a text, CountFile those of a file by its URL.
	CountText, CountFile func(string) int
}

// A Session is what stays in memory of a session between passes: its
// transcript, its frozen state, and the rendering of each message as a memo of
// the two. It is not safe for concurrent use.
type Session struct {
	Config
	Meta  Meta
	State *frozen.State

	entries []entry
	index   map[string]int // message key -> entry
	// sent is the patches that the client holds.
	sent map[string]schema.Patch
	// unsent names the messages whose patch may differ from the one sent.
	unsent map[string]bool
	// rendered counts the leading entries whose memo and chains are valid.
	rendered int
	stale    []int // edited entries below rendered
	// frame is the session's part of what the memo was rendered with.
	frame frozen.Setup
}

// entry is one message with the memo of its rendering.
type entry struct {
	raw  json.Value
	head header
	// decoded is only there until the first rendering: a long session would be
	// in memory twice.
	decoded *transcript.Message
	// items are the message's units, ascending by part.
	items []rule.Item
	look  look
	// fused says that it was rendered as the continuation of the assistant
	// message before it, and joins that the next one would be its own.
	fused, joins bool

	patch         schema.Patch
	hash, rawHash render.Hash
	tokens, bytes int
	// The sums and chains include this entry.
	wire, rawChain Chain
	tokensUpTo     int
	bytesUpTo      int
}

// header is what the pass reads of a message without opening it again.
type header struct {
	key                string
	role               transcript.Role
	created, completed int64
	// asked is the model of the newest user message that names one, this or before.
	asked            schema.Model
	finish           string
	hidden, hasTools bool
	errored          bool
	usage            transcript.Usage
}

// NewSession returns a session without messages.
func NewSession(c Config, meta Meta, state *frozen.State) *Session {
	return &Session{
		Config: c, Meta: meta, State: state,
		index: make(map[string]int), sent: make(map[string]schema.Patch), unsent: make(map[string]bool),
	}
}

// Len returns the number of messages.
func (s *Session) Len() int { return len(s.entries) }

// ForgetClient makes the next mutation carry every patch: the client holds none.
func (s *Session) ForgetClient() {
	clear(s.sent)
	for key := range s.index {
		s.unsent[key] = true
	}
}

// Update replaces the messages after the first keep by raws, and returns the
// units that were seen for the first time, with their new tags. Tags are given
// in the order of the transcript, so that a restarted host, which may have lost
// the newest ones, gives the same again.
func (s *Session) Update(keep int, raws []json.Value) []frozen.Unit {
	for _, e := range s.entries[keep:] {
		delete(s.index, e.head.key)
		s.unsent[e.head.key] = true
	}
	s.entries = s.entries[:keep]
	s.rendered = min(s.rendered, keep)
	decoded, looks := make([]transcript.Message, len(raws)), make([]look, len(raws))
	inParallel(len(raws), func(i int) {
		decoded[i] = s.Codec.Decode(raws[i])
		looks[i] = lookAt(&decoded[i])
	})
	var fresh []frozen.Unit
	for i := range raws {
		e, units := s.read(raws[i], &decoded[i], looks[i])
		fresh = append(fresh, units...)
		s.index[e.head.key] = len(s.entries)
		s.entries = append(s.entries, e)
	}
	return fresh
}

// read takes one message in and finds or gives the tags of its units.
func (s *Session) read(raw json.Value, m *transcript.Message, l look) (entry, []frozen.Unit) {
	e := entry{raw: raw, decoded: m, look: l, head: header{
		key: m.Key, role: m.Role, created: m.Created, completed: m.Completed,
		asked: s.asked(), finish: m.Finish, hidden: m.Hidden, errored: m.Errored, usage: m.Usage,
	}}
	if m.Role == transcript.User && m.Model.ID != "" {
		e.head.asked = m.Model
	}
	var fresh []frozen.Unit
	keys := newUnitKeys(m)
	gap := s.gapBefore(m)
	for i := range m.Parts {
		p := &m.Parts[i]
		e.head.hasTools = e.head.hasTools || p.Kind == transcript.Tool
		key := keys.of(p)
		if key == "" {
			continue
		}
		u := s.State.ByKey(key)
		if u == nil {
			measured := s.measure(m.Key, key, p)
			if p.Kind == transcript.Text {
				measured.GapSeconds, gap = gap, 0 // the first text shows it
			}
			added := s.State.Add(measured)
			fresh = append(fresh, added)
			u = &added
		}
		e.items = append(e.items, rule.Item{Tag: u.Tag, Facts: l.facts[i]})
	}
	e.look.facts = nil
	return e, fresh
}

// gapBefore returns the seconds between the message before and m, if m is the
// user's and came after a pause that is worth showing; else 0. It is measured
// once, like a unit's size: the message before may be gone one day (spec
// transform §21).
func (s *Session) gapBefore(m *transcript.Message) int {
	if m.Role != transcript.User || len(s.entries) == 0 {
		return 0
	}
	before := &s.entries[len(s.entries)-1].head
	ended := before.completed
	if ended == 0 {
		ended = before.created
	}
	if ended == 0 || m.Created == 0 {
		return 0
	}
	seconds := float64(m.Created-ended) / 1000
	if text.Gap(seconds) == "" {
		return 0
	}
	return int(seconds)
}

// measure counts a unit, once in its life.
func (s *Session) measure(messageKey, key string, p *transcript.Part) frozen.Unit {
	u := frozen.Unit{Key: key, MessageKey: messageKey}
	switch p.Kind {
	case transcript.Text:
		u.Kind, u.Bytes, u.Tokens = frozen.TextUnit, len(p.Text), s.CountText(p.Text)
	case transcript.File:
		u.Kind, u.Bytes, u.Tokens = frozen.FileUnit, len(p.URL), s.CountFile(p.URL)
	case transcript.Tool:
		u.Kind, u.Tool = frozen.ToolUnit, p.Name
		u.Bytes, u.Tokens = len(p.Text), s.CountText(p.Text)
		u.InputBytes, u.InputTokens = len(p.Input), s.CountText(string(p.Input))
	}
	return u
}

// Freeze adds what a decision adds to the frozen state, and returns how to take
// it back, for when it could not be stored.
func (s *Session) Freeze(d Decision) (thaw func()) {
	setup := s.State.Setup
	undo := s.State.Freeze(d.Edits)
	s.State.Setup = d.Setup
	s.touch(d.Edits)
	return func() {
		s.State.Thaw(undo)
		s.State.Setup = setup
		s.touch(d.Edits)
	}
}

// Sent notes that a wire has gone out which could not be stored, so that the
// next one is compared with it.
func (s *Session) Sent(w Wire) { s.Meta.Wire, s.Meta.Raw = w.Wire, w.Raw }

// touch marks the messages of edited units for rendering.
func (s *Session) touch(edits []frozen.Edit) {
	for _, e := range edits {
		u := s.State.ByTag(e.Tag)
		if u == nil {
			continue
		}
		if i, ok := s.index[u.MessageKey]; ok && i < s.rendered {
			s.stale = append(s.stale, i)
		}
	}
}

// Forget removes what is known of messages that the harness has deleted.
func (s *Session) Forget(messageKeys []string) {
	gone := make(map[string]bool, len(messageKeys))
	for _, k := range messageKeys {
		gone[k] = true
	}
	s.State.Forget(gone)
}

// Has reports whether the transcript holds the message.
func (s *Session) Has(messageKey string) bool {
	_, ok := s.index[messageKey]
	return ok
}
