package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

type Meta struct {
	// Passes counts all passes. Epoch counts the hard passes.
	Passes, Epoch int
	// At is the time of the last pass in Unix milliseconds.
	At int64
	// Model is the model of the last pass. Agent is the name of the harness's agent, for example "build". It is "" if
	// the harness does not name one.
	Model schema.Model
	Agent string
	// Wire identifies the last wire. Raw identifies the raw messages from which it was made.
	Wire, Raw Chain
	Episode   Episode
	// ReclaimUpTo is the highest tag that an earlier pass was allowed to drop. rule.ToolReclaim drops no tool output
	// with a higher tag, so that the model can use each output once before it disappears.
	ReclaimUpTo int
	Gauge       Gauge
	Rent        Rent
	// RawTokens is the estimated size of the next prompt without magicctx.
	RawTokens int
}

type Chain struct {
	Messages int
	Hash     render.Hash
}

// next returns the chain after one more message. If the provider does not see the message, its hash is zero, and the
// chain stays the same.
func (c Chain) next(h render.Hash) Chain {
	if h == (render.Hash{}) {
		return c
	}
	return Chain{c.Messages + 1, c.Hash.Next(h)}
}

// Config holds the settings that stay the same for a session.
type Config struct {
	render.Options
	// CountText returns the number of tokens in a text, and CountFile the number of tokens in the file at a URL.
	CountText, CountFile func(string) int
	// SystemBlocks is the number of blocks of the newest system prompt, 0 if it is unknown.
	SystemBlocks int
}

type Session struct {
	memo
	stamped map[int]int64
	// All units that the newest Update added have the tag freshFrom or a higher one.
	freshFrom   int
	updatedFrom int
	// calls counts how often each call has been read, by the call's identity (rule.Facts.Again). If the harness sends a
	// message again, its calls are counted again. So a count above 1 only means that the call may be a repetition.
	calls      map[uint64]int
	expansions []Expansion
}

// An array holds the messages that the harness sends. Its methods do not use the frozen state.
type array struct {
	entries []entry
	index   map[string]int // message key -> entry
}

type content struct {
	array
	State *frozen.State
	own   int // the host's count of all entries, in tokens
	// parts holds the sizes of the units after the head.
	parts frozen.Parts
	// thinking[i] is the remembered result of thinkingSent(i+1).
	thinking []int
}

// A memo holds the rendering of each message, and knows which patches the client has.
type memo struct {
	Config
	content
	Meta Meta

	head     headMemo
	covered  int
	sentHead []json.Value
	// sent holds the patches that the client has, by message key.
	sent map[string]schema.Patch
	// unsent holds the keys of messages whose patch may differ from their patch in `sent`.
	unsent map[string]bool
	// rendered is the number of leading entries whose rendering and chains are valid.
	rendered int
	stale    []int // rendered entries that were edited after their rendering
	// unsettled is the index of the first rendered entry for which `settle` must compute everything that depends on
	// earlier messages, for example the chain.
	unsettled int
	// sentToken is the token of the newest request. It is "" if the harness did not send the host's wire.
	sentToken string
	// sentCount is the size of the newest wire in tokens, as the host counts them. It is 0 if this process has sent no
	// wire.
	sentCount int
	// askedModel is the model that AskModel has set. It is zero if the messages name the model of the next request.
	askedModel schema.Model
	unstored   []frozen.Binding
	answered   map[string]bool
	// frame and framedFor are the setup and the model of the last rendering.
	frame     frozen.Setup
	framedFor schema.Model
	// proposed holds the additions of the last rendering until they are committed. shown is the frozen state together
	// with these additions.
	proposed frozen.Additions
	shown    *frozen.Overlay
}

// An entry is one message with the memo of its rendering.
type entry struct {
	raw    json.Value
	header header
	// decoded is nil after the first rendering, to save memory in a long session.
	decoded *transcript.Message
	// told is the message as the historian sees it, without ordinal and sizes. It is nil unless a historian may read
	// the message.
	told *history.Message
	// items are the message's units, in the order of their parts.
	items  []rule.Item
	traits traits
	// If fused is true, the provider joins the rendered message with the assistant message before it. If fusesWithNext
	// is true, it would join the rendered message with an assistant message after it.
	fused, fusesWithNext bool
	spared               spared
	// unbound means that the wire omits the message's thinking, because the prompt before the message has changed and
	// the model would reject the thinking.
	unbound bool
	// rawFusesWithNext is fusesWithNext for the raw message.
	rawFusesWithNext bool

	// `own` is the number of tokens of the units that are still on the wire, as the host counts them.
	own   int
	parts frozen.Parts
	// whole is the size of all units if there were no edits and no head, as the host counts it.
	whole int

	patch               schema.Patch
	hash, rawHash       render.Hash
	tokens              int
	wireChain, rawChain Chain
	tokensUpTo          int
}

// A header holds the fields of a message that each pass needs, so that the message need not be decoded again.
type header struct {
	key                string
	role               transcript.Role
	created, completed int64
	// asked is the model of the newest user message that names one. agent is the agent of the newest message that names
	// one. Both look only at this message and the messages before it.
	asked schema.Model
	agent string
	// newestSummary is the key of the newest summary by the harness, up to this message.
	newestSummary    string
	wrote            schema.Model
	afterCalls       bool
	finish           transcript.Finish
	hasTools         bool
	errored, summary bool
	stays, nameless  bool
	usage            transcript.Usage
}

func NewSession(c Config, meta Meta, state *frozen.State) *Session {
	typed := make(map[string]string)
	for _, u := range state.Units() {
		if u.Typed != "" {
			typed[u.MessageKey] = u.Typed
		}
	}
	c.Codec = transcript.WithTyped(c.Codec, typed)
	return &Session{
		memo: memo{
			Config: c, Meta: meta, content: content{array: array{index: make(map[string]int)}, State: state},
			shown: state.With(frozen.Additions{}), sent: make(map[string]schema.Patch), unsent: make(map[string]bool),
		},
		stamped: make(map[int]int64), calls: make(map[uint64]int),
	}
}

func (s *array) Len() int { return len(s.entries) }

// When the user types a command, some harnesses replace the typed line with the command's text. LearnTyped sets the
// typed lines, by message key (see transcript.Part.Typed). The caller calls it before Update.
func (s *memo) LearnTyped(lines map[string]string) { s.Codec = transcript.WithTyped(s.Codec, lines) }

// Update keeps the first `unchanged` messages of the array, replaces the others with raws, and returns the units that
// are new to the session. New units get their tags in the order of the transcript. So if a crash loses the newest tags,
// the restarted host gives the units the same tags again. `sent` is the token (Wire.Token) of the newest request, or ""
// if the harness did not send the host's wire.
func (s *Session) Update(unchanged int, raws []json.Value, sent string) []frozen.Unit {
	s.sentToken, s.freshFrom, s.updatedFrom, s.expansions = sent, s.State.TagCounter+1, unchanged, nil
	for _, e := range s.entries[unchanged:] {
		delete(s.index, e.header.key)
		s.unsent[e.header.key] = true
		s.own -= e.own
		s.parts.Replace(e.parts, frozen.Parts{})
	}
	s.entries = s.entries[:unchanged]
	s.rendered = min(s.rendered, unchanged)
	decoded, found := make([]transcript.Message, len(raws)), make([]traits, len(raws))
	vocabulary := s.Codec.Vocabulary()
	inParallel(len(raws), func(i int) {
		decoded[i] = s.Codec.Decode(raws[i])
		found[i] = traitsOf(vocabulary, &decoded[i])
	})
	var fresh []frozen.Unit
	for i := range raws {
		e, units := s.read(raws[i], &decoded[i], found[i])
		fresh = append(fresh, units...)
		if e.header.key != "" { // an unreadable message has no key
			s.index[e.header.key] = len(s.entries)
		}
		s.entries = append(s.entries, e)
		s.weigh(len(s.entries) - 1)
	}
	s.reviewHead()
	s.coverLate(unchanged)
	return fresh
}

func (s *content) reviewHead() {
	if s.State.HideHead(s.isReverted(s.State.Head)) {
		s.weighAll()
	}
}

// If the harness inserts a message between covered messages after a fold, coverLate makes the head cover it, too. For
// example, the harness may store an aborted answer late. coverLate looks at the entries from i on.
func (s *content) coverLate(i int) {
	for end := s.coveredBy(s.State.Head); i < end; i++ {
		if key := s.entries[i].header.key; key != "" && !s.entries[i].staysBehind(s.State.Head) {
			s.State.Cover(key)
			s.weigh(i)
		}
	}
}

func (s *Session) read(raw json.Value, m *transcript.Message, t traits) (entry, []frozen.Unit) {
	e := entry{raw: raw, decoded: m, traits: t, header: header{
		key: m.Key, role: m.Role, created: m.Created, completed: m.Completed,
		asked: s.asked(), agent: s.agent(), newestSummary: s.SummaryKey(), finish: m.Finish, errored: m.Errored, summary: m.Summary, stays: m.Stays, nameless: m.Nameless, usage: m.Usage,
	}}
	if n := len(s.entries); n > 0 {
		e.header.afterCalls = s.entries[n-1].header.afterCalls || s.entries[n-1].header.hasTools
	}
	switch {
	case m.Role == transcript.Assistant:
		e.header.wrote = m.Model
	case m.Role == transcript.User && m.Model.ID != "":
		e.header.asked = m.Model
	}
	if m.Agent != "" {
		e.header.agent = m.Agent
	}
	if history.IsSummary(m) {
		e.header.newestSummary = m.Key
	}
	var fresh []frozen.Unit
	keys := newUnitKeys(m)
	gap := s.gapBefore(m)
	if e.isMarker() { // no provider sees the marker's message
		e.traits = traits{silent: true}
		return e, nil
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		e.header.hasTools = e.header.hasTools || p.Kind == transcript.Tool
		key := keys.of(p)
		if key == "" {
			continue
		}
		u := s.State.ByKey(key)
		if u == nil {
			measured := s.measure(m.Key, key, p)
			measured.Fingerprint, measured.Typed = fingerprint(m, p), p.Typed
			if p.Kind == transcript.Text {
				measured.GapSeconds, gap = gap, 0 // only the first text of the message shows the pause
			}
			added := s.State.Add(measured)
			fresh = append(fresh, added)
			u = &added
			s.noteExpansion(u.Tag, p)
		} else {
			s.stamp(u, m, p)
			if p.Replaced && u.Edit != frozen.Withhold { // the text of a withheld unit names the old count, so the count must not change
				u.Bytes, u.Tokens = len(p.Text), s.CountText(p.Text)
			}
		}
		e.items = append(e.items, rule.Item{Tag: u.Tag, Facts: t.facts[i]})
		if call := t.facts[i].Again; call != 0 {
			s.calls[call]++
		}
	}
	e.traits.facts = nil
	return e, fresh
}

// gapBefore measures the pause before a user message. It is called only once for each message. The message before it
// may disappear later, but the mark of the pause must not change then (A19 in docs/defects.md).
func (s *array) gapBefore(m *transcript.Message) int {
	if m.Role != transcript.User || len(s.entries) == 0 {
		return 0
	}
	before := &s.entries[len(s.entries)-1].header
	ended := before.completed
	if ended <= 0 {
		ended = before.created
	}
	if ended <= 0 || m.Created <= 0 { // a broken session file may hold any number
		return 0
	}
	seconds := float64(m.Created-ended) / 1000
	if text.Gap(seconds) == "" {
		return 0
	}
	return int(seconds)
}

// measure counts the bytes and tokens of a new unit.
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

// show sets the additions for the next rendering. If a revert has removed messages that the head covers, and the
// additions contain no new head, show hides the head. So a reverted message cannot stay on the wire in a summary, even
// if the new head could not be stored.
func (s *memo) show(a frozen.Additions) {
	if a.Head == nil && s.isReverted(s.State.Head) {
		a.Head = &frozen.Head{}
	}
	s.markStale(s.proposed)
	s.proposed, s.shown = a, s.State.With(a)
	s.markStale(a)
}

func (s *memo) markStale(a frozen.Additions) {
	for _, i := range s.edited(a) {
		if i < s.rendered {
			s.stale = append(s.stale, i)
		}
	}
}

// After returns the Meta after a pass. at is in Unix milliseconds.
func (s *Session) After(d Decision, w Wire, at int64) Meta {
	m := Meta{
		Passes: s.Meta.Passes + 1, Epoch: s.Meta.Epoch, At: at, Model: d.Model, Agent: d.Agent, Wire: w.Wire, Raw: w.Raw,
		Episode: Episode{Relief: s.Meta.Episode.Relief, Stuck: d.Stuck}, ReclaimUpTo: d.ReclaimUpTo, Gauge: d.Gauge, Rent: d.Rent.after(d),
		RawTokens: d.Gauge.estimate(s.raw(len(s.entries))),
	}
	if d.Verdict == schema.Hard {
		m.Epoch++
	}
	if d.Relief != nil {
		m.Episode.Relief = *d.Relief
	}
	return m
}

// Commit tells the session that a pass was stored. Its additions become part of the frozen state.
func (s *Session) Commit(d Decision, w Wire, m Meta) {
	s.State.Commit(d.Additions.Additions)
	s.State.Lose(w.Lost)
	if d.Setup != nil || len(w.Lost) > 0 {
		s.thinking = nil
	}
	s.proposed = frozen.Additions{}
	for _, i := range s.edited(d.Additions.Additions) {
		s.weigh(i)
	}
	if d.Head != nil {
		s.weighAll()
	}
	s.unstored, s.stamped = nil, make(map[int]int64)
	s.Meta, s.sentCount = m, s.counted()
}

// Sent records a wire that was sent but not stored. The next wire is compared with it.
func (s *memo) Sent(w Wire) { s.Meta.Wire, s.Meta.Raw, s.sentCount = w.Wire, w.Raw, s.counted() }

// Forget removes all state about messages that the harness has deleted.
func (s *content) Forget(messageKeys []string) {
	gone := make(map[string]bool, len(messageKeys))
	for _, k := range messageKeys {
		gone[k] = true
	}
	s.State.Forget(gone)
	for key := range gone {
		if i, ok := s.index[key]; ok {
			s.weigh(i)
		}
	}
}

func (s *array) Has(messageKey string) bool {
	_, ok := s.index[messageKey]
	return ok
}
