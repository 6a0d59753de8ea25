package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store"
)

// If the sessions in memory exceed these bounds, Trim evicts some. The next transform of an evicted session needs a
// resync.
const (
	maxResidentSessions = 32
	maxResidentBytes    = 256 << 20
)

// Only the holder of its lock may use the fields of a Session.
type Session struct {
	// `locked` holds a token while a call works on the session. Unlike a mutex, a channel lets a waiting call give up
	// when its context ends, even if the running call never returns.
	locked chan struct{}
	Key    store.Key
	// Pipe is nil before the first transform and after a failed one.
	Row   store.SessionRow
	Known bool // whether Row was read from the store
	Pipe  *pipeline.Session
	// Revision identifies the array that both Pipe and the client hold.
	Revision uint64
	// Unsaved holds the units that could not be stored because the database was busy. They are also in a file. So even
	// if the host restarts, it gives their tags to no other unit.
	Unsaved []frozen.Unit
	// Inherited is the state that a fork takes over from its original. When it is stored, it becomes nil.
	Inherited *inherited
	Chronicle Chronicle
	// `gap` describes the messages that no compartment covers although the harness has already removed them from the
	// array. It is nil if there are none: then all messages without a compartment are in the array.
	gap *gap
	// The maps `states` and `lasting` hold the features' own state for this session (see Slot). When the session is
	// forgotten, the host discards `states` and keeps `lasting`.
	states, lasting map[any]any
	WireTokens      int
	// SystemOf is the number of the newest stored pass that no longer waits for its system prompt, or 0 if unknown. The
	// harness asks for the system prompt once per request. If it asks again and no newer pass has been stored, the
	// question belongs to a pass that could not be stored, so the journal has no line for this pass.
	SystemOf int
	// AnsweredAt is when the harness last reported an answer, in Unix ms.
	AnsweredAt int64
	// Bytes is the size of the session's messages. Reading it needs no lock.
	Bytes atomic.Int64
	// `used` is the tick of the newest use. Sessions.mu guards it.
	used uint64
	// LastPass is the duration of the last pass in µs. Thinking is the estimated size, in tokens, of the
	// thinking in its wire. Reading them needs no lock.
	LastPass, Thinking atomic.Int64
}

func (s *Session) Forget() {
	s.Pipe, s.Known, s.Unsaved, s.Inherited = nil, false, nil, nil
	s.Bytes.Store(0)
	s.WireTokens = 0
	s.Chronicle, s.gap = Chronicle{}, nil
	clear(s.states)
}

type Options struct {
	Store *store.Store
	Guard *store.Guard
	Clock clock.Clock
	Log   *slog.Logger
	// If RawHistory is nil, only messages that are in memory can be read.
	RawHistory *rawhistory.Reader
	Projects   *project.Projects
	// The functions in Copied are called when a session begins as a copy, so that features copy their state.
	Copied []func(ctx context.Context, s *Session, original store.Key) error
}

// Sessions is a bounded set of sessions in memory.
type Sessions struct {
	Options
	// mu guards byKey, tick, and Session.used of each session.
	mu    sync.Mutex
	byKey map[store.Key]*Session
	tick  uint64
}

func New(o Options) *Sessions {
	return &Sessions{Options: o, byKey: make(map[store.Key]*Session)}
}

// Lock locks the session with this key, and returns it. It fails only if ctx ends.
func (ss *Sessions) Lock(ctx context.Context, key store.Key) (*Session, error) {
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
		s.Unlock() // the session was evicted or removed in the meantime
	}
}

func (s *Session) Unlock() { <-s.locked }

// AwaitIdle waits until no call is working on the session. It gives up when ctx ends, or after the duration `longest`.
func (ss *Sessions) AwaitIdle(ctx context.Context, key store.Key, longest time.Duration) {
	ss.mu.Lock()
	s, ok := ss.byKey[key]
	ss.mu.Unlock()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case s.locked <- struct{}{}:
		s.Unlock()
	case <-ctx.Done():
	}
}

func (ss *Sessions) use(key store.Key) *Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s, ok := ss.byKey[key]
	if !ok {
		s = &Session{Key: key, locked: make(chan struct{}, 1)}
		ss.byKey[key] = s
	}
	ss.tick++
	s.used = ss.tick
	return s
}

func (ss *Sessions) holds(s *Session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byKey[s.Key] == s
}

// LastPassDuration returns 0 if the duration is unknown.
func (ss *Sessions) LastPassDuration(key store.Key) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s, ok := ss.byKey[key]; ok {
		return time.Duration(s.LastPass.Load()) * time.Microsecond
	}
	return 0
}

// Thinking returns the estimated size of the thinking in a session's last wire, or 0 if unknown.
func (ss *Sessions) Thinking(key store.Key) int64 {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s, ok := ss.byKey[key]; ok {
		return s.Thinking.Load()
	}
	return 0
}

// Trim evicts the least recently used sessions until the remaining ones are within the bounds. It never evicts the
// newest session. It skips locked sessions. So if a call never returns, the other sessions can still be evicted, and
// the memory does not fill up.
func (ss *Sessions) Trim() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	oldestFirst := slices.SortedFunc(maps.Values(ss.byKey), func(a, b *Session) int { return cmp.Compare(a.used, b.used) })
	count, bytes := len(oldestFirst), int64(0)
	for _, s := range oldestFirst {
		bytes += s.Bytes.Load()
	}
	for _, s := range oldestFirst {
		if count <= maxResidentSessions && bytes <= maxResidentBytes {
			return
		}
		if s.used == ss.tick || !s.tryLock() {
			continue
		}
		count, bytes = count-1, bytes-s.Bytes.Load()
		delete(ss.byKey, s.Key)
		s.Forget()
		s.Unlock()
	}
}

func (s *Session) tryLock() bool {
	select {
	case s.locked <- struct{}{}:
		return true
	default:
		return false
	}
}

func (ss *Sessions) Remove(key store.Key) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.byKey, key)
}

func (ss *Sessions) Load(ctx context.Context, s *Session) (store.Snapshot, error) {
	snap, _, err := ss.Store.Load(ctx, s.Key)
	if err != nil {
		return snap, fmt.Errorf("load session: %w", err)
	}
	snap.Session.Key = s.Key
	s.Row, s.Known = snap.Session, true
	s.Unsaved = unitsFromRows(snap.Waiting)
	return snap, nil
}

func (s *Session) Build(snap store.Snapshot, codec transcript.Codec) {
	meta := metaFromRow(s.Row)
	s.Pipe = pipeline.NewSession(pipeline.Config{
		Options:   render.Options{Codec: codec, Prefixes: s.Mode().Reduces},
		CountText: tokens.Count, CountFile: tokens.Image,
	}, meta, stateFromSnapshot(snap, s.Chronicle.Compartments))
}

// AsOf returns a session as it was after a pass: with the edits of this pass and of earlier ones, but without
// messages and head.
func AsOf(snap store.Snapshot, pass int, codec transcript.Codec) *pipeline.Session {
	snap.Edits = slices.DeleteFunc(slices.Clone(snap.Edits), func(e store.EditRow) bool { return e.Pass > pass })
	snap.Thinking = slices.Clone(snap.Thinking)
	for i, t := range snap.Thinking {
		if t.LostPass > pass {
			snap.Thinking[i].LostPass = 0
		}
	}
	snap.Head = nil
	s := &Session{Row: snap.Session}
	s.Build(snap, codec)
	return s.Pipe
}

// About describes the units of a session's messages. The result maps each unit's key to its description. The
// descriptions need the content of the units, which is only in memory. So if the session is not in memory, or if a pass
// is running, the result is empty.
func (ss *Sessions) About(key store.Key, messages map[string]bool) map[string]string {
	ss.mu.Lock()
	s, ok := ss.byKey[key]
	ss.mu.Unlock()
	if !ok || !s.tryLock() {
		return nil
	}
	defer s.Unlock()
	if s.Pipe == nil {
		return nil
	}
	return s.Pipe.Labels(messages)
}
