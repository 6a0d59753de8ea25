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
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Bounds of the sessions in memory. A session that was evicted needs a resync
// when it comes back.
const (
	maxResidentSessions = 32
	maxResidentBytes    = 256 << 20
)

// A session is a session in memory. Only the holder of its lock may use its fields.
type session struct {
	// locked holds a token while a call works on the session. It is a channel, because waiting for a
	// call that does not return has to end with the context of the one that waits.
	locked chan struct{}
	key    store.Key
	// row is the session as stored. pipe is nil until the first transform, and
	// after a transform that failed.
	row   store.SessionRow
	known bool // row has been read
	pipe  *pipeline.Session
	// revision names the array that both pipe and the client hold.
	revision uint64
	// unsaved are units that a busy store did not take. They wait in a file, so
	// that their tags are not given to other units.
	unsaved []frozen.Unit
	// inherited is the state that a fork takes over from its original. It is
	// nil once it is stored.
	inherited *inherited
	// nudging is the state since the last pass. nudged is the record of earlier
	// reminders, nil until it is read.
	nudging nudging
	nudged  *store.NudgeRow
	// chronicle is read with the pipe.
	chronicle chronicle
	work      work
	// isMarking says that the session's compaction marker is about to change.
	isMarking bool
	// pause is the pause before the newest pass. It is nil after its usage is
	// known, and where the usage would prove nothing. wireTokens is the size of
	// the messages that the pass sent.
	pause      *pause
	wireTokens int
	// sampling is the comparison from which the model's token ratio is learned next.
	sampling sampling
	// systemChanged says that the next request leaves with another system prompt than
	// the last one. The next pass is then a bust.
	systemChanged bool
	// isUnstored says that the newest pass could not be stored, because the database was
	// busy. So the journal has no line for its request.
	isUnstored bool
	// answeredAt is when the harness last told of an answer, in Unix ms.
	answeredAt int64
	// bytes is the size of the session's messages. It may be read without the lock.
	bytes atomic.Int64
	// used is the tick of the newest use. The mutex of the sessions guards it.
	used uint64
	// lastPass is the duration of the last pass in µs. It may be read without the lock.
	lastPass atomic.Int64
}

// forget clears the session's memory. The next transform starts from the store.
func (s *session) forget() {
	s.pipe, s.known, s.unsaved, s.inherited = nil, false, nil, nil
	s.bytes.Store(0)
	s.nudging, s.nudged = nudging{}, nil
	s.pause, s.wireTokens, s.systemChanged, s.isUnstored = nil, 0, false, false
	s.sampling = sampling{}
	s.chronicle = chronicle{}
}

// sessions is a bounded set of sessions in memory.
type sessions struct {
	// mu guards byKey, tick and the field used of each session.
	mu    sync.Mutex
	byKey map[store.Key]*session
	tick  uint64
}

// lock returns the session of key, locked. Its error is that of ctx.
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

// use returns the session of key as the one that was used last.
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

// lastPassDuration returns the duration of a session's last pass, 0 if unknown.
func (ss *sessions) lastPassDuration(key store.Key) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s, ok := ss.byKey[key]; ok {
		return time.Duration(s.lastPass.Load()) * time.Microsecond
	}
	return 0
}

// trim evicts the least recently used sessions until the bounds hold. It passes over sessions that are
// locked by a running call, so one call that does not return cannot fill the memory. The newest session
// stays.
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

// remove forgets a session for good.
func (ss *sessions) remove(key store.Key) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.byKey, key)
}

// codecOf returns the codec of a harness.
func codecOf(harness string) (transcript.Codec, error) {
	codec, ok := transcript.CodecOf(harness)
	if !ok {
		return nil, invalid("harness %q is not supported by this host", harness)
	}
	return codec, nil
}

// load reads the session from the store, if memory does not hold it.
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

// build puts the pipeline's session together from its stored form.
func (s *session) build(snap store.Snapshot, codec transcript.Codec) {
	meta := metaFromRow(s.row)
	s.pipe = pipeline.NewSession(pipeline.Config{
		Options:   render.Options{Codec: codec, Prefixes: s.mode().Reduces},
		CountText: tokens.Count, CountFile: tokens.Image,
	}, meta, stateFromSnapshot(snap))
}

func metaFromRow(r store.SessionRow) pipeline.Meta {
	return pipeline.Meta{
		Passes: r.Passes, Epoch: r.Epoch, At: r.LastPassAt, Model: schema.Model{Provider: r.Provider, ID: r.Model}, Agent: r.Agent,
		Wire: chainFrom(r.WireMessages, r.WireChain), Raw: chainFrom(r.RawMessages, r.RawChain),
		Episode: episodeFromRow(r.Episode), ReclaimUpTo: r.Setup.ReclaimUpTo, Gauge: pipeline.Gauge(r.Gauge),
	}
}

// chainFrom returns a stored chain. A text that is not a chain counts as the chain of no messages: the next pass then
// cannot tell what the last wire was, but it answers.
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

func stateFromSnapshot(snap store.Snapshot) *frozen.State {
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
	state.SetHead(headFromRow(snap.Head))
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

// rowFromEdit returns the stored form of an edit. Its payload is the level of a
// compression, and the rule behind any other edit, which only a person reads.
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
		Bytes: r.Bytes, Tokens: r.Tokens, InputBytes: r.InputBytes, InputTokens: r.InputTokens, GapSeconds: r.GapSeconds, Fingerprint: r.Fingerprint,
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
		Bytes: u.Bytes, Tokens: u.Tokens, InputBytes: u.InputBytes, InputTokens: u.InputTokens, GapSeconds: u.GapSeconds, Fingerprint: u.Fingerprint,
	}
}
