package session

import (
	"context"
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// `inherited` is the state that a copy takes over from another session, besides its units.
type inherited struct {
	Edits    []store.EditRow
	Thinking []store.ThinkingRow
	Rest     store.Inheritance
}

// For a fork, the harness copies messages and gives them new ids. BuildCopy applies the decisions about the originals
// to the copies, so that both sessions have the same wire. The copy then fits into the window, and the provider still
// has its prefix in the cache. If BuildCopy finds no original, the session starts without inherited state.
func (ss *Sessions) BuildCopy(ctx context.Context, s *Session, own store.Snapshot, codec transcript.Codec, named string, messages []json.Value) error {
	original, copied, err := ss.Original(ctx, s.Key, named, s.Row.Directory, pipeline.OutlineOf(codec, messages))
	if err != nil {
		ss.Guard.Wrote(err)
		return err
	}
	if len(copied.Units) == 0 {
		own.Session = s.Row
		s.Build(own, codec)
		return nil
	}
	rows, _, err := ss.Store.History.Compartments(ctx, original.Session.Key)
	if err != nil {
		ss.Guard.Wrote(err)
		return err
	}
	past := historyOfCopy(original.Head, rows, copied)
	ss.Log.Info("the session is a copy", "session", s.Key.Session, "of", original.Session.Key.Session,
		"messages", len(copied.Messages), "units", len(copied.Units), "compartments", len(past.rows))
	s.adopt(original, past, copied, own, codec)
	for _, copied := range ss.Copied {
		if err := copied(ctx, s, original.Session.Key); err != nil {
			ss.Guard.Wrote(err)
			return err
		}
	}
	return nil
}

// lookedFor is the number of messages at the start of the copy by which the host looks for the original. The first
// message alone is not enough: the harness may have compacted the original after its newest pass, and then the copy
// begins with a summary that no pass has seen.
const lookedFor = 4

// Original returns the session from which the harness copied the beginning of the session `key`, and the copied
// messages. Both are empty if there is no such session. `o` is the outline of the copy's array. If the harness names an
// original, as Pi does, Original prefers it. Otherwise, it takes the session with the most copied units. For example,
// if C is a fork of B, and B is a fork of A, both A and B may contain C's messages. But B has the newest decisions
// about them.
func (ss *Sessions) Original(ctx context.Context, key store.Key, named, directory string, o pipeline.Outline) (best store.Snapshot, longest pipeline.Copy, err error) {
	if named != "" {
		if best, longest, err = ss.copyOf(ctx, store.Key{Harness: key.Harness, Session: named}, o); err != nil || len(longest.Units) > 0 {
			return best, longest, err
		}
	}
	var keys []store.Key
	for _, first := range o.First(lookedFor) {
		if keys, err = ss.Store.Originals(ctx, key, directory, first); err != nil {
			return best, longest, err
		}
		if len(keys) > 0 {
			break
		}
	}
	for _, key := range keys {
		snap, c, err := ss.copyOf(ctx, key, o)
		if err != nil {
			return best, longest, err
		}
		if len(c.Units) > len(longest.Units) {
			best, longest = snap, c
		}
	}
	return best, longest, nil
}

// copyOf loads the session `key` from the store, and finds those of its units that are also in the array described by
// `o`. If the session is not stored, both results are empty.
func (ss *Sessions) copyOf(ctx context.Context, key store.Key, o pipeline.Outline) (store.Snapshot, pipeline.Copy, error) {
	snap, _, err := ss.Store.Load(ctx, key)
	if err != nil {
		return snap, pipeline.Copy{}, err
	}
	units := make([]frozen.Unit, len(snap.Units))
	for i, u := range snap.Units {
		units[i] = unitFromRow(u)
	}
	return snap, o.CopyOf(units), nil
}

// The method `adopt` gives the fork the frozen state of its original. The first pass stores it. If you add a new kind
// of decision about messages or units, copy it here, too: a copied unit keeps its tag and gets a new key, and a copied
// message gets a new key (copied.Messages).
func (s *Session) adopt(original store.Snapshot, past copiedHistory, copied pipeline.Copy, own store.Snapshot, codec transcript.Codec) {
	from := original.Session
	s.Row.Epoch, s.Row.TagCounter = from.Epoch, copied.TagCounter()
	s.Row.System = systemOfCopy(s.Row.System, from)
	s.Row.Setup = RowFromSetup(copied.MovedSetup(setupFromRow(from.Setup)), min(from.Setup.ReclaimUpTo, copied.TagCounter()))
	s.Row.Episode = RowFromEpisode(copied.MovedEpisode(episodeFromRow(from.Episode)))
	s.Row.Gauge = store.GaugeState(copied.Moved(pipeline.Gauge(from.Gauge)))

	snap := store.Snapshot{Session: s.Row, Head: past.head}
	s.Chronicle = Chronicle{Compartments: past.rows}
	keys := make(map[int]string, len(copied.Units))
	s.Unsaved = nil
	stored := make(map[string]bool, len(own.Units)) // a call of ctx_reduce stores units before the first pass
	for _, u := range own.Units {
		stored[u.UnitKey] = true
		snap.Session.TagCounter = max(snap.Session.TagCounter, u.Tag)
	}
	snap.Units = append(snap.Units, own.Units...)
	for _, u := range copied.Units {
		keys[u.Tag] = u.Key
		if !stored[u.Key] {
			s.Unsaved, snap.Units = append(s.Unsaved, u), append(snap.Units, rowFromUnit(u))
		}
	}
	s.Row.TagCounter = snap.Session.TagCounter
	for _, e := range original.Edits {
		if keys[e.Tag] != "" {
			e.Pass = 1
			snap.Edits = append(snap.Edits, e)
		}
	}
	for _, d := range original.Queued {
		if d.UnitKey = keys[d.Tag]; d.UnitKey != "" {
			snap.Queued = append(snap.Queued, d)
		}
	}
	seen := make(map[string]bool) // the messages that were in an array of the original
	for _, u := range original.Units {
		seen[u.MessageKey] = true
	}
	answered := make(map[string]bool)
	for _, t := range original.Thinking { // the copy has the same chain as the original, so the binding stays valid
		b := copied.MovedBinding(frozen.Binding{MessageKey: t.MessageKey, Prompt: t.Prompt})
		switch {
		case t.LostPass > 0:
		case b.MessageKey != "":
			snap.Thinking = append(snap.Thinking, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt})
		case !seen[t.MessageKey]:
			answered[b.Prompt] = true
		}
	}
	for _, u := range own.Waiting { // units of the copy that a busy database has not stored yet
		if keys[u.Tag] == "" {
			s.Unsaved = append(s.Unsaved, unitFromRow(u))
			snap.Units = append(snap.Units, u)
		}
	}
	s.Inherited = &inherited{Edits: snap.Edits, Thinking: snap.Thinking, Rest: store.Inheritance{
		Queued: snap.Queued, System: s.Row.System, Head: past.head, Compartments: past.rows,
	}}
	slices.SortFunc(snap.Units, func(a, b store.UnitRow) int { return a.Tag - b.Tag })
	snap.Queued = append(snap.Queued, own.Queued...)
	s.Build(snap, codec)
	s.Pipe.Answered(answered)
	if s.Row.Mode == from.Mode { // in another mode the wire differs, so the provider has cached no part of it
		s.Pipe.Meta.Passes, s.Pipe.Meta.At = from.Passes, from.LastPassAt
		s.Pipe.Meta.Model, s.Pipe.Meta.Agent = schema.Model{Provider: from.Provider, ID: from.Model}, from.Agent
	}
}

// If the harness has not yet asked for the copy's system prompt, the copy starts with the original's system prompt.
func systemOfCopy(own store.SystemState, original store.SessionRow) store.SystemState {
	switch {
	case own.SystemHash == "":
		return original.System
	case own.Text == "":
		return own
	case own.Text == original.System.Text:
		return original.System
	}
	own.Preamble = original.Setup.Preamble + 1 // a new number makes the copy's first pass begin a new preamble
	return own
}

type copiedHistory struct {
	head *store.HeadRow
	rows []chronicle.Compartment
}

// historyOfCopy returns the compartments that the copy takes over: those whose messages are in the copy's array. If the
// array begins with a summary by the harness, the copy also takes over the compartments of the messages that this
// summary replaces. These messages are not in the array, so they keep the original's keys.
//
// If the head covers messages that the copy lacks, the head loses the key of its last message, as after a revert. The
// copy's first pass then makes a new head from the compartments.
func historyOfCopy(head *store.HeadRow, rows []chronicle.Compartment, copied pipeline.Copy) copiedHistory {
	var h copiedHistory
	messages, before := maps.Clone(copied.Messages), ""
	keyInCopy := func(key string) string {
		if messages[key] == "" && copied.IsCompacted {
			return key
		}
		return messages[key]
	}
	shown, hidden := 0, 0 // the copy's array has the ends of the first `shown` rows, and its summary replaces the first `hidden` rows
	for i, row := range rows {
		keys := make([]string, len(row.Keys))
		for i, key := range row.Keys {
			if messages[key] == "" && key != "" && before != "" {
				messages[key] = copied.Unknown[before]
			}
			keys[i], before = keyInCopy(key), messages[key]
		}
		if messages[chronicle.LastKey(row.Keys)] != "" {
			shown = i + 1
		}
		if hidden == i && copied.IsCompacted && (copied.Summary == "" || row.AfterSummary != copied.Summary) {
			hidden = i + 1
		}
		row.Keys, row.AfterSummary = keys, keyInCopy(row.AfterSummary)
		h.rows = append(h.rows, row)
	}
	h.rows = h.rows[:max(shown, hidden)]
	if head == nil || len(h.rows) == 0 && head.DeltaSeq >= 0 {
		return h
	}
	moved := *head
	moved.ThroughKey, moved.Generation, moved.AfterSummary = keyInCopy(head.ThroughKey), 0, keyInCopy(head.AfterSummary)
	if head.DeltaSeq >= len(h.rows) || messages[head.ThroughKey] == "" && head.DeltaSeq >= hidden {
		moved.ThroughKey = ""
	}
	pinned := pinnedFromText(head.Pinned)
	for i, key := range pinned {
		pinned[i] = keyInCopy(key)
	}
	moved.Pinned = textOfPinned(pinned)
	h.head = &moved
	return h
}
