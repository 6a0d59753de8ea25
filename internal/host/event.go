package host

import (
	"cmp"
	"context"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Event records events of the harness between passes. Events are lost while the host is down, so a correct wire must
// not depend on them. For example, if the host misses a refusal, it frees space after the next refusal.
func (h *Host) Event(ctx context.Context, c client.Client, p schema.EventParams) (schema.Empty, error) {
	harness, err := h.clients.Harness(c)
	if err != nil {
		return schema.Empty{}, err
	}
	codec, err := client.CodecOf(harness)
	if err != nil {
		return schema.Empty{}, err
	}
	e, err := codec.Event(p.Event)
	if err != nil {
		return schema.Empty{}, client.Invalid("event: %v", err)
	}
	session := cmp.Or(p.Session, e.Session)
	if session == "" {
		return schema.Empty{}, nil
	}
	key := store.Key{Harness: harness, Session: session}
	switch e.Kind {
	case transcript.SessionTitled:
		err = h.status.NoteTitle(ctx, key, e.Title)
	case transcript.SessionCompacted:
		err = h.forgetRawTokens(ctx, key)
	case transcript.SessionDeleted:
		h.sessions.Remove(key)
		h.status.Titles.Forget(key)
		if err = h.markers.Remove(ctx, key); err == nil {
			err = h.Store.DiscardSession(ctx, key)
		}
	case transcript.MessageRemoved:
		err = h.forgetMessage(ctx, key, e.Message.Key)
	case transcript.MessageChanged:
		err = h.noteStep(ctx, c, key, &e, p.Sent)
	case transcript.RequestFailed:
		err = h.learner.NoteError(ctx, key, e.Error, nil)
	}
	if err != nil { // most events write nothing, so a success would say nothing about the store
		h.guard.Wrote(err)
	}
	return schema.Empty{}, err
}

// A compaction by the harness has changed the session's array, so forgetRawTokens forgets the size of the array.
func (h *Host) forgetRawTokens(ctx context.Context, key store.Key) error {
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	return h.Store.ForgetRawTokens(writing, key)
}

func (h *Host) forgetMessage(ctx context.Context, key store.Key, message string) error {
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	if err := h.Store.RemoveMessages(writing, key, []string{message}); err != nil {
		return err
	}
	if s.Pipe != nil {
		s.Pipe.Forget([]string{message})
	}
	return nil
}

func (h *Host) noteStep(ctx context.Context, c client.Client, key store.Key, e *transcript.Event, sent string) error {
	m := &e.Message
	if m.Summary {
		return nil // this is an answer to a prompt of the harness's own compaction
	}
	if m.Errored {
		if err := h.learner.NoteError(ctx, key, e.Error, m); err != nil {
			return err
		}
	}
	if m.Completed == 0 {
		return nil // this is the first update of the step
	}
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	isAccepted := !m.Errored && m.Usage.Prompt() > 0
	if isAccepted {
		s.AnsweredAt = h.Clock.Now()
		if err := h.learner.NoteAccepted(writing, s, m); err != nil {
			return err
		}
	}
	if s.Pipe != nil && s.Pipe.Has(m.Key) {
		return nil // this is a late update of a step of an earlier pass
	}
	if s.Pipe != nil && m.Finish != transcript.EndsWithCalls { // the session may be idle now, so the index does not wait for a pass
		h.index.Note(s, h.clients.KnownConfig(schema.Harness(key.Harness), s.Row.Directory))
	}
	// An aborted answer reports no usage, but its thinking is sent again like any other, so we bind it here.
	if err := h.sessions.BindAnswer(writing, s, m.Key, sent); err != nil || !isAccepted || s.Pipe == nil {
		return err
	}
	if err := h.Store.SaveUsage(writing, key, s.Row.Passes, m.Usage.Input, m.Usage.CacheRead, m.Usage.CacheWrite); err != nil {
		return err
	}
	h.status.Publish(key) // until now, the status had only the size that the pass estimated
	return h.learner.NotePause(writing, s, m.Model, m.Usage)
}
