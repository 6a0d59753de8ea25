package host

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Bounds of the sessions in memory. If an evicted session sends a transform again, it needs a resync.
const (
	maxResidentSessions = 32
	maxResidentBytes    = 256 << 20
)

// A session is one session in memory. Only the holder of its lock may use its fields.
type session struct {
	// locked holds a token while a call works on the session. It is a channel and not a mutex, so that a
	// waiting call can give up when its context ends, even if the running call never returns.
	locked chan struct{}
	key    store.Key
	// row is the stored form of the session. pipe is nil until the first transform, and after a failed
	// transform.
	row   store.SessionRow
	known bool // row has been read
	pipe  *pipeline.Session
	// revision identifies the array that both pipe and the client hold.
	revision uint64
	// unsaved are units that a busy store could not take yet. They also wait in a file, so that even after a
	// restart no other unit gets their tags.
	unsaved []frozen.Unit
	// rereads are the removed units that the model has read again, as far as no pass has stored them.
	rereads []store.RereadRow
	// regretted names the rules that are regretted in the project. It is nil until it is read.
	regretted map[string]bool
	// inherited is the state that a fork takes over from its original. It becomes nil when it is stored.
	inherited *inherited
	// nudged is what the model has been told about output to drop. It is nil until it is read. isNudgeNew says
	// that no pass has stored it yet.
	nudged     *store.NudgeRow
	isNudgeNew bool
	// chronicle is read from the store together with pipe.
	chronicle chronicle
	// toldOfPrompt is the newest prompt of which the user was told that it does not fit into the window.
	toldOfPrompt string
	// bridge is nil if the array says itself where it continues the compartments.
	bridge *bridge
	work   work
	// isMarking says that a change of the session's compaction marker is under way.
	isMarking bool
	// pause is the pause before the newest pass. It is nil after the pass's usage is known, and if that usage
	// would prove nothing. wireTokens is the size of the messages that the pass sent.
	pause      *pause
	wireTokens int
	// sampling is the comparison that yields the next sample of the model's token ratio.
	sampling sampling
	// isUnstored says that the newest pass could not be stored because the database was busy. The journal
	// then has no line for its request.
	isUnstored bool
	// answeredAt is when the harness last reported an answer, in Unix ms.
	answeredAt int64
	// bytes is the size of the session's messages. Reading it needs no lock.
	bytes atomic.Int64
	// used is the tick of the newest use. The mutex of sessions guards it.
	used uint64
	// lastPass is the duration of the last pass in µs. Reading it needs no lock.
	lastPass atomic.Int64
}

// forget clears the session's state in memory. The next transform starts from the store.
func (s *session) forget() {
	s.pipe, s.known, s.unsaved, s.inherited = nil, false, nil, nil
	s.bytes.Store(0)
	s.rereads, s.regretted = nil, nil
	s.nudged, s.isNudgeNew = nil, false
	s.pause, s.wireTokens, s.isUnstored = nil, 0, false
	s.sampling = sampling{}
	s.chronicle, s.bridge = chronicle{}, nil
}

// sessions is a bounded set of sessions in memory.
type sessions struct {
	// mu guards byKey, tick and the field used of each session.
	mu    sync.Mutex
	byKey map[store.Key]*session
	tick  uint64
}

// lock returns the session of key, locked. It fails only if ctx ends.
func (ss *sessions) lock(ctx context.Context, key store.Key) (*session, error) {
	for {
		s := ss.use(key)
		select {
		case s.locked <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for session %s: %w", key.Session, context.Cause(ctx))
		}
		if ss.holds(s) {
			return s, nil
		}
		s.unlock() // it was evicted or removed in the meantime
	}
}

func (s *session) unlock() { <-s.locked }

// use returns the session of key, and marks it as the most recently used one.
func (ss *sessions) use(key store.Key) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s, ok := ss.byKey[key]
	if !ok {
		s = &session{key: key, locked: make(chan struct{}, 1)}
		ss.byKey[key] = s
	}
	ss.tick++
	s.used = ss.tick
	return s
}

func (ss *sessions) holds(s *session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byKey[s.key] == s
}

// lastPassDuration returns the duration of a session's last pass, or 0 if it is unknown.
func (ss *sessions) lastPassDuration(key store.Key) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s, ok := ss.byKey[key]; ok {
		return time.Duration(s.lastPass.Load()) * time.Microsecond
	}
	return 0
}

// trim evicts the least recently used sessions until the bounds hold. It skips sessions that a running call
// has locked, so one call that never returns cannot fill the memory. It never evicts the newest session.
func (ss *sessions) trim() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	oldestFirst := slices.SortedFunc(maps.Values(ss.byKey), func(a, b *session) int { return cmp.Compare(a.used, b.used) })
	count, bytes := len(oldestFirst), int64(0)
	for _, s := range oldestFirst {
		bytes += s.bytes.Load()
	}
	for _, s := range oldestFirst {
		if count <= maxResidentSessions && bytes <= maxResidentBytes {
			return
		}
		if s.used == ss.tick || !s.tryLock() {
			continue
		}
		count, bytes = count-1, bytes-s.bytes.Load()
		delete(ss.byKey, s.key)
		s.forget()
		s.unlock()
	}
}

func (s *session) tryLock() bool {
	select {
	case s.locked <- struct{}{}:
		return true
	default:
		return false
	}
}

// remove forgets a deleted session.
func (ss *sessions) remove(key store.Key) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.byKey, key)
}

// load reads the session's row and snapshot from the store.
func (h *Host) load(ctx context.Context, s *session) (store.Snapshot, error) {
	snap, _, err := h.Store.Load(ctx, s.key)
	if err != nil {
		return snap, fmt.Errorf("load session: %w", err)
	}
	snap.Session.Key = s.key
	s.row, s.known = snap.Session, true
	s.unsaved = unitsFromRows(snap.Waiting)
	return snap, nil
}

// build creates the session's pipeline from its stored form and from the chronicle.
func (s *session) build(snap store.Snapshot, codec transcript.Codec) {
	meta := metaFromRow(s.row)
	s.pipe = pipeline.NewSession(pipeline.Config{
		Options:   render.Options{Codec: codec, Prefixes: s.mode().Reduces},
		CountText: tokens.Count, CountFile: tokens.Image,
	}, meta, stateFromSnapshot(snap, s.chronicle.compartments))
}

func metaFromRow(r store.SessionRow) pipeline.Meta {
	return pipeline.Meta{
		Passes: r.Passes, Epoch: r.Epoch, At: r.LastPassAt, Model: schema.Model{Provider: r.Provider, ID: r.Model}, Agent: r.Agent,
		Wire: chainFrom(r.WireMessages, r.WireChain), Raw: chainFrom(r.RawMessages, r.RawChain),
		Episode: episodeFromRow(r.Episode), ReclaimUpTo: r.Setup.ReclaimUpTo, Gauge: pipeline.Gauge(r.Gauge), Rent: pipeline.Rent(r.Rent),
	}
}

// chainFrom decodes a stored chain. If the text is not a chain, it returns the chain of no messages. The next
// pass then cannot tell what the last wire was, but it still answers.
func chainFrom(messages int, text string) pipeline.Chain {
	c := pipeline.Chain{Messages: messages}
	b, err := hex.DecodeString(text)
	if text == "" {
		return c
	}
	if err != nil || len(b) != len(c.Hash) {
		return pipeline.Chain{}
	}
	copy(c.Hash[:], b)
	return c
}

func textOf(c pipeline.Chain) string { return hex.EncodeToString(c.Hash[:]) }

func stateFromSnapshot(snap store.Snapshot, compartments []history.Compartment) *frozen.State {
	units := unitsFromRows(slices.Concat(snap.Units, snap.Waiting))
	if len(snap.Waiting) > 0 {
		slices.SortFunc(units, func(a, b frozen.Unit) int { return a.Tag - b.Tag })
	}
	edits := make([]frozen.Edit, len(snap.Edits))
	for i, e := range snap.Edits {
		edits[i] = editFromRow(e)
	}
	queue := make([]frozen.QueuedDrop, len(snap.Queued))
	for i, d := range snap.Queued {
		queue[i] = frozen.QueuedDrop{Tag: d.Tag, Key: d.UnitKey, QueuedAt: d.QueuedAt, Source: d.Source}
	}
	state := frozen.NewState(snap.Session.TagCounter, units, edits, queue)
	state.Setup = setupFromRow(snap.Session.Setup)
	head := headFromRow(snap.Head)
	state.SetHead(head, pipeline.CoveredKeys(head, compartments))
	for _, t := range snap.Thinking {
		state.Bind(frozen.Binding{MessageKey: t.MessageKey, Prompt: t.Prompt, Lost: t.LostPass > 0})
	}
	return state
}

func setupFromRow(r store.SetupState) frozen.Setup {
	return frozen.Setup{
		Profile: r.Profile, Binds: r.Binds, Preamble: r.Preamble, Gaps: r.ShowGaps,
		Todo: frozen.Todo{MessageKey: r.TodoMessage, State: r.TodoState},
	}
}

func rowFromSetup(s frozen.Setup, reclaimUpTo int) store.SetupState {
	return store.SetupState{
		Profile: s.Profile, Binds: s.Binds, Preamble: s.Preamble, ShowGaps: s.Gaps, ReclaimUpTo: reclaimUpTo,
		TodoMessage: s.Todo.MessageKey, TodoState: s.Todo.State,
	}
}

func episodeFromRow(r store.EpisodeState) pipeline.Episode {
	return pipeline.Episode{
		Relief: pipeline.Relief{Of: r.ReliefOf, Tokens: r.Relief},
		Stuck:  pipeline.Stuck{Tag: r.StuckTag, Grace: r.StuckGrace, Band: r.StuckBand},
	}
}

func rowFromEpisode(e pipeline.Episode) store.EpisodeState {
	return store.EpisodeState{
		ReliefOf: e.Relief.Of, Relief: e.Relief.Tokens,
		StuckTag: e.Stuck.Tag, StuckGrace: e.Stuck.Grace, StuckBand: e.Stuck.Band,
	}
}

func editFromRow(r store.EditRow) frozen.Edit {
	level := 0
	if r.Kind == string(frozen.Compress) {
		level, _ = strconv.Atoi(r.Payload)
	}
	return frozen.Edit{Tag: r.Tag, Kind: frozen.EditKind(r.Kind), Level: level}
}

// rowFromEdit returns the stored form of an edit. The payload of a compression is its level. The payload of
// any other edit is the rule that proposed it, which only people read.
func rowFromEdit(e frozen.Edit, pass int, rule string) store.EditRow {
	row := store.EditRow{Tag: e.Tag, Kind: string(e.Kind), Pass: pass, Payload: rule}
	if e.Level > 0 {
		row.Payload = strconv.Itoa(e.Level)
	}
	return row
}

func unitFromRow(r store.UnitRow) frozen.Unit {
	return frozen.Unit{
		Tag: r.Tag, Key: r.UnitKey, MessageKey: r.MessageKey, Kind: frozen.UnitKind(r.Kind), Tool: r.Tool,
		Bytes: r.Bytes, Tokens: r.Tokens, InputBytes: r.InputBytes, InputTokens: r.InputTokens, GapSeconds: r.GapSeconds, Note: r.Note, Fingerprint: r.Fingerprint, Typed: r.Typed,
	}
}

func unitsFromRows(rows []store.UnitRow) []frozen.Unit {
	units := make([]frozen.Unit, len(rows))
	for i, r := range rows {
		units[i] = unitFromRow(r)
	}
	return units
}

func rowsFromUnits(units []frozen.Unit) []store.UnitRow {
	rows := make([]store.UnitRow, len(units))
	for i, u := range units {
		rows[i] = rowFromUnit(u)
	}
	return rows
}

func rowFromUnit(u frozen.Unit) store.UnitRow {
	return store.UnitRow{
		Tag: u.Tag, UnitKey: u.Key, MessageKey: u.MessageKey, Kind: string(u.Kind), Tool: u.Tool,
		Bytes: u.Bytes, Tokens: u.Tokens, InputBytes: u.InputBytes, InputTokens: u.InputTokens, GapSeconds: u.GapSeconds, Note: u.Note, Fingerprint: u.Fingerprint, Typed: u.Typed,
	}
}
