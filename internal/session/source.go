package session

import (
	"context"
	"errors"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// StateOf returns the session's frozen state, even if no transcript is in memory.
func (ss *Sessions) StateOf(ctx context.Context, s *Session) (*frozen.State, error) {
	if s.Pipe != nil {
		return s.Pipe.State, nil
	}
	snap, err := ss.Load(ctx, s)
	if err != nil {
		return nil, err
	}
	compartments, _, err := ss.Store.History.Compartments(ctx, s.Key)
	if err != nil {
		return nil, err
	}
	return stateFromSnapshot(snap, compartments), nil
}

// A RawSource reads messages of one session, as rawhistory.Reader.Read does.
type RawSource func(ctx context.Context, start, end int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error)

// ErrSubagent refuses ctx_expand in a subagent's session. Such a session never has summaries, so there is nothing to
// expand.
var ErrSubagent = errors.New("this is the session of a subagent; all of its messages are in front of you")

// RawSource returns a source of the session's raw messages. If the array in memory begins with the session's first
// message, the source reads this array. If not, it reads the harness's own store. The caller holds the session's
// lock.
func (ss *Sessions) RawSource(ctx context.Context, s *Session, directory string) (RawSource, error) {
	if !s.Known {
		if _, err := ss.Load(ctx, s); err != nil {
			return nil, err
		}
	}
	if s.Mode().IsSubagent {
		return nil, ErrSubagent
	}
	if s.Pipe == nil {
		var err error
		if s.Chronicle, err = ss.ReadChronicle(ctx, s); err != nil {
			return nil, err
		}
	}
	return ss.SourceOf(ctx, s, directory)
}

// SourceOf does the same as RawSource, but without its checks. The caller holds the session's lock and has read its
// chronicle.
func (ss *Sessions) SourceOf(ctx context.Context, s *Session, directory string) (RawSource, error) {
	anchors := AnchorsOf(s.Chronicle.Compartments)
	if s.Pipe != nil {
		if entries, raws := s.Pipe.Raw(); isWhole(entries, anchors) {
			return InMemory(s.Pipe.Codec, entries, raws, anchors), nil
		}
	}
	if ss.RawHistory == nil {
		return nil, errors.New("the session is not in memory, and this host reads no other store")
	}
	session := ss.storedSession(s)
	session.Directory = directory
	var err error
	if session.Typed, err = ss.Store.Typed(ctx, s.Key); err != nil {
		return nil, err
	}
	return func(ctx context.Context, start, end int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error) {
		return ss.RawHistory.Read(ctx, session, start, end, yield)
	}, nil
}

func (ss *Sessions) storedSession(s *Session) rawhistory.Session {
	return rawhistory.Session{Harness: schema.Harness(s.Key.Harness), ID: s.Key.Session, Directory: s.Row.Directory, Anchors: AnchorsOf(s.Chronicle.Compartments)}
}

// Compartments store the keys and ordinals of their messages. AnchorsOf returns these messages, from which the ordinals
// of all other messages can be counted.
func AnchorsOf(compartments []chronicle.Compartment) (anchors []chronicle.Place) {
	for _, c := range compartments {
		anchors = append(anchors, history.AnchorsOf(c.Start, c.Keys)...)
	}
	return anchors
}

// isWhole reports whether the array still contains the oldest messages. After a compaction by the harness, it
// contains a summary instead of them.
func isWhole(entries []history.Entry, anchors []chronicle.Place) bool {
	if len(anchors) > 0 {
		return slices.ContainsFunc(entries, func(e history.Entry) bool { return e.Key == anchors[0].Key })
	}
	return !slices.ContainsFunc(entries, func(e history.Entry) bool { return e.IsSummary })
}

// InMemory returns a source that reads messages from memory. It needs no lock, because raw messages never change.
func InMemory(codec transcript.Codec, entries []history.Entry, raws []json.Value, anchors []chronicle.Place) RawSource {
	return func(ctx context.Context, start, end int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error) {
		return rawhistory.Deliver(ctx, codec, entries, anchors, start, end, func(i int) (json.Value, error) { return raws[i], nil }, yield)
	}
}

// BindAnswer stores the prompt to which the thinking of an answer is bound. It does not wait until an array contains
// the answer, because the harness may exit before the next pass. It does nothing if the model does not bind its
// thinking, or if the request was not sent with the wire of the newest pass. The caller holds the session's lock.
func (ss *Sessions) BindAnswer(ctx context.Context, s *Session, message, sent string) error {
	if sent == "" || message == "" {
		return nil
	}
	state, err := ss.StateOf(ctx, s)
	if err != nil {
		return err
	}
	wire := chainFrom(s.Row.WireMessages, s.Row.WireChain) // the host may be new, and may not have seen an array yet
	if s.Pipe != nil {
		wire = s.Pipe.Meta.Wire
	}
	b, ok := pipeline.BindAnswer(state, wire, message, sent)
	if !ok {
		return nil
	}
	ctx, cancel := ss.Guard.Writing(ctx)
	defer cancel()
	if err := ss.Store.SaveThinking(ctx, s.Key, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt}); err != nil {
		if s.Pipe != nil {
			s.Pipe.Unstore(b)
		}
		return err
	}
	return nil
}
