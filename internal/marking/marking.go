package marking

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Package marker implements Markers.
type Markers interface {
	Set(ctx context.Context, session, through string) (boundary string, err error)
	Remove(ctx context.Context, session string) error
	RemoveAll(ctx context.Context) (removed int, err error)
	IsWhole(ctx context.Context, session, boundary string) (bool, error)
}

// A publication requests a marker, which is then pending. When the host has set the marker in the harness's store, it
// is applied.
type markers struct {
	pending pendingMarker
	// pendingText is the JSON of pending. The store clears only this text, and never a newer request.
	pendingText string
	applied     appliedMarker
}

// A pendingMarker requests a marker after the message with this ordinal. The store compares markers by their JSON
// text, so the fields stay in alphabetical order.
type pendingMarker struct {
	EndMessageID string `json:"endMessageId"`
	Ordinal      int    `json:"ordinal"`
	PublishedAt  int64  `json:"publishedAt"`
}

// BoundaryMessageID is the key of the user's prompt at which the harness's array begins. It is the newest prompt among
// the messages up to Ordinal.
type appliedMarker struct {
	BoundaryMessageID string `json:"boundaryMessageId"`
	Ordinal           int    `json:"ordinal"`
}

func (a appliedMarker) isSet() bool { return a.BoundaryMessageID != "" }

// PendingAt returns the stored form of a request for a marker after a compartment.
func PendingAt(c chronicle.Compartment, now int64) string {
	text, _ := json.Marshal(pendingMarker{EndMessageID: chronicle.LastKey(c.Keys), Ordinal: c.End, PublishedAt: now}) // text and numbers always encode
	return string(text)
}

// If a stored text is unreadable, readMarkers leaves the marker empty. The next publication replaces the text.
func readMarkers(pending, applied string) (m markers) {
	m.pendingText = pending
	if pending != "" {
		_ = json.Unmarshal([]byte(pending), &m.pending)
	}
	if applied != "" {
		_ = json.Unmarshal([]byte(applied), &m.applied)
	}
	return m
}

func (k *Keeper) markersOf(key store.Key) Markers { return k.Markers[schema.Harness(key.Harness)] }

type Keeper struct {
	Options
	// moving keeps changes of markers in order.
	moving  sync.Mutex
	trouble atomic.Pointer[string]
}

type Options struct {
	Store      *store.Store
	Sessions   *session.Sessions
	Background *background.Work
	Log        *slog.Logger
	// A harness without an entry gets no markers.
	Markers map[schema.Harness]Markers
}

func New(o Options) *Keeper { return &Keeper{Options: o} }

func (k *Keeper) Feature() pass.Feature {
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) { k.consider(ps) }}
}

func (k *Keeper) Why() string {
	if reason := k.trouble.Load(); reason != nil {
		return *reason
	}
	return ""
}

type markerTask struct {
	// `to` is the message after which the task sets the marker. If `to` is zero, the task removes the marker.
	to chronicle.Place
	// `done` is the text of the pending marker that the task clears, either because the task sets this marker, or
	// because the marker is no longer needed.
	done string
	// isPointless means that the task clears the pending marker, and does not change the applied one.
	isPointless bool
}

type markerMoment struct {
	isOn, isBust bool
	head         frozen.Head
	compartments []chronicle.Compartment
	// `found` is the boundary with which the harness's array begins, or "" if the array has no marker.
	found string
}

// If no change is due, ok is false.
func (m markers) next(now markerMoment) (t markerTask, ok bool) {
	end := chronicle.Place{}
	if n := len(now.compartments); n > 0 {
		end = chronicle.Place{Ordinal: now.compartments[n-1].End, Key: now.compartments[n-1].EndKey()}
	}
	switch {
	case !now.isOn:
		return markerTask{done: m.pendingText}, m.applied.isSet() || now.found != "" || m.pendingText != ""
	case now.found != "" && now.found != m.applied.BoundaryMessageID:
		return markerTask{}, true // the array begins at a copy of another session's marker, or at a marker without a record
	case m.applied.isSet() && m.applied.Ordinal > end.Ordinal:
		return markerTask{to: now.place(end)}, true // a revert has removed the compartments of the hidden messages
	case m.pendingText == "" || !now.isBust:
		return markerTask{}, false
	case !now.hasEnd(m.pending) || m.applied.isSet() && m.applied.Ordinal >= m.pending.Ordinal:
		return markerTask{done: m.pendingText, isPointless: true}, true
	case now.head.Ordinal < m.pending.Ordinal:
		return markerTask{}, false // the head does not cover these messages yet
	}
	to := now.place(chronicle.Place{Ordinal: m.pending.Ordinal, Key: m.pending.EndMessageID})
	if to.Ordinal <= m.applied.Ordinal {
		return markerTask{}, false // the marker can move only when the head no longer pins the older prompts
	}
	return markerTask{to: to, done: m.pendingText}, true
}

// place returns the newest message, up to `end`, after which a marker can stand without hiding a pinned prompt. If
// there is no such message, it returns the zero Place.
func (now markerMoment) place(end chronicle.Place) (place chronicle.Place) {
	anchors := session.AnchorsOf(now.compartments)
	first := firstPinned(now.head, anchors)
	if first == 0 || end.Ordinal < first {
		return end
	}
	for _, a := range anchors {
		if a.Ordinal < first {
			place = a
		}
	}
	return place
}

// firstPinned returns the lowest ordinal of a pinned prompt, or 0 if no prompt is pinned. If a pinned prompt is not
// among the anchors, it may be any message, so firstPinned returns 1.
func firstPinned(head frozen.Head, anchors []chronicle.Place) (first int) {
	ordinals := make(map[string]int, len(anchors))
	for _, a := range anchors {
		ordinals[a.Key] = a.Ordinal
	}
	for _, key := range head.Pinned {
		if key != "" && (first == 0 || ordinals[key] < first) {
			first = max(1, ordinals[key])
		}
	}
	return first
}

func (now markerMoment) hasEnd(p pendingMarker) bool {
	for _, c := range now.compartments {
		if c.EndKey() == p.EndMessageID && c.End == p.Ordinal {
			return true
		}
	}
	return false
}

var isMarking = session.NewLastingSlot[bool]()

// If the session's marker must change, consider changes it in the background. From then on, the harness's array begins
// at another message. No content is lost, because the head covers all messages before that message.
func (k *Keeper) consider(ps *pass.Pass) {
	s := ps.Session
	if k.markersOf(s.Key) == nil || *isMarking.Of(s) || ps.Decision.Cause == pipeline.CauseBusy {
		return
	}
	t, ok := readMarkers(s.Chronicle.PendingMarker, s.Chronicle.AppliedMarker).next(markerMoment{
		isOn: ps.Config.CompactionMarkers && !s.Mode().IsSubagent, isBust: ps.Decision.Verdict != schema.Steady,
		head: s.Pipe.State.Head, compartments: s.Chronicle.Compartments, found: s.Pipe.Marker(),
	})
	if !ok {
		return
	}
	*isMarking.Of(s) = true
	key := s.Key
	k.Background.Go(func() {
		err := k.change(k.Background.Lifetime(), key, t)
		if err != nil {
			k.Log.Warn("the compaction marker stays as it is", "session", key.Session, "error", err)
		}
		k.note(err)
		k.marked(key)
	})
}

func (k *Keeper) change(ctx context.Context, key store.Key, t markerTask) error {
	k.moving.Lock()
	defer k.moving.Unlock()
	return k.move(ctx, key, t)
}

// The caller of move holds the lock moving.
func (k *Keeper) move(ctx context.Context, key store.Key, t markerTask) error {
	applied := ""
	switch {
	case t.isPointless:
		_, err := k.Store.Markers.ClearPending(ctx, key, t.done)
		return err
	case t.to.Ordinal == 0:
		if err := k.markersOf(key).Remove(ctx, key.Session); err != nil {
			return err
		}
	default:
		boundary, err := k.markersOf(key).Set(ctx, key.Session, t.to.Key)
		if errors.Is(err, marker.ErrImpossible) {
			_, cleared := k.Store.Markers.ClearPending(ctx, key, t.done)
			return errors.Join(err, cleared)
		}
		if err != nil {
			return err
		}
		text, _ := json.Marshal(appliedMarker{BoundaryMessageID: boundary, Ordinal: t.to.Ordinal})
		applied = string(text)
	}
	k.Log.Info("the compaction marker is moved", "session", key.Session, "marker", applied)
	return k.Store.Markers.SaveApplied(ctx, key, applied, t.done)
}

func (k *Keeper) marked(key store.Key) {
	ctx := context.WithoutCancel(k.Background.Lifetime())
	s, err := k.Sessions.Lock(ctx, key)
	if err != nil {
		return
	}
	defer s.Unlock()
	*isMarking.Of(s) = false
	if sum, err := k.Store.History.Summary(ctx, key); err == nil {
		s.Chronicle.PendingMarker, s.Chronicle.AppliedMarker = sum.PendingMarker, sum.AppliedMarker
	}
}

func (k *Keeper) note(err error) {
	if err == nil {
		k.trouble.Store(nil)
		return
	}
	reason := err.Error()
	k.trouble.Store(&reason)
}

func (k *Keeper) Remove(ctx context.Context, key store.Key) error {
	if k.markersOf(key) == nil {
		return nil
	}
	sum, err := k.Store.History.Summary(ctx, key)
	if err != nil || sum.AppliedMarker == "" {
		return err
	}
	return k.change(ctx, key, markerTask{})
}

// CheckAll compares the recorded markers with the harness's store when the harness starts. It removes a marker if some
// of its rows are missing, or if a crash has left it without a record. If markers are switched on, the next bust sets
// the removed markers again. If they are switched off, CheckAll removes all markers.
func (k *Keeper) CheckAll(ctx context.Context, harness schema.Harness, isOn bool) {
	rows, err := k.Store.Markers.Of(ctx, string(harness))
	for i := 0; i < len(rows) && err == nil; i++ {
		err = k.check(ctx, rows[i], isOn)
	}
	if len(rows) > 0 && !isOn && err == nil {
		_, err = k.Markers[harness].RemoveAll(ctx) // copies of a session have copies of its marker
	}
	if err != nil {
		k.Log.Warn("the compaction markers are not checked", "error", err)
		k.note(err)
	}
}

func (k *Keeper) check(ctx context.Context, r store.MarkerRow, isOn bool) error {
	k.moving.Lock()
	defer k.moving.Unlock()
	now, err := k.Store.History.Summary(ctx, r.Key)
	if err != nil || now.PendingMarker != r.Pending || now.AppliedMarker != r.Applied {
		return err // a pass has set a marker since
	}
	m := readMarkers(r.Pending, r.Applied)
	if isOn && m.applied.isSet() {
		if isWhole, err := k.markersOf(r.Key).IsWhole(ctx, r.Key.Session, m.applied.BoundaryMessageID); err != nil || isWhole {
			return err
		}
	}
	t := markerTask{}
	if !isOn {
		t.done = m.pendingText
	}
	return k.move(ctx, r.Key, t)
}
