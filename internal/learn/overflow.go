package learn

import (
	"context"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/overflow"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// NoteError looks for an overflow in an error that the harness has reported. If a step stores the error, `message` is
// this step. If the error belongs to the whole session, `message` is nil. A harness may report the same refusal in both
// ways, or only as an error of the session.
func (l *Learner) NoteError(ctx context.Context, key store.Key, report json.Value, message *transcript.Message) error {
	o, ok := overflow.Detect(report)
	if !ok {
		return nil
	}
	s, err := l.Sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	if !s.Known {
		if _, err := l.Sessions.Load(ctx, s); err != nil {
			return err
		}
	}
	if s.Row.Passes == 0 {
		return nil // the refused prompt belongs to no pass
	}
	m := schema.Model{Provider: s.Row.Provider, ID: s.Row.Model}
	at := l.Clock.Now()
	if message != nil {
		if message.Completed == 0 && message.Created > 0 {
			at = min(at, message.Created) // Pi dates a step by its beginning, and the next one may begin before this report arrives
		}
		if s.Pipe != nil && s.Pipe.Has(message.Key) {
			return nil // this report is late: a pass has already seen this step
		}
		if message.Model.ID != "" {
			m = message.Model
		}
	}
	return l.noteOverflow(ctx, s, m, o, at)
}

// noteOverflow records the limit that a refusal at refusedAt (Unix ms) shows. In a primary session, the next pass then
// frees space. A subagent's session ends with the refusal, so there is no next pass.
func (l *Learner) noteOverflow(ctx context.Context, s *session.Session, m schema.Model, o overflow.Overflow, refusedAt int64) error {
	at := refusedAt
	if s.Mode().IsSubagent {
		at = 0
	}
	writing, cancel := l.Guard.Writing(ctx)
	defer cancel()
	isNew, err := l.Store.MarkOverflow(writing, s.Key, s.Row.Passes, at, o.PromptTokens)
	if err != nil { // if the store could not write the refusal in time, the host remembers it in memory
		isNew = s.Row.OverflowPass != s.Row.Passes
	}
	if !isNew {
		return err
	}
	s.Row.OverflowAt, s.Row.OverflowPass, s.Row.OverflowTokens = at, s.Row.Passes, o.PromptTokens
	l.Log.Warn("the provider refused a prompt for its length", "session", s.Key.Session, "pass", s.Row.Passes,
		"provider", m.Provider, "model", m.ID, "limitTokens", o.LimitTokens, "promptTokens", o.PromptTokens, "cause", o.Family)
	return errors.Join(err, l.Models.NoteRefusal(writing, m, o.LimitTokens, refusedAt))
}

// NoteAccepted is called for an answered prompt, which proves that a prompt of this size fits. NoteAccepted also clears
// an earlier overflow of the session.
func (l *Learner) NoteAccepted(ctx context.Context, s *session.Session, m *transcript.Message) error {
	if !s.Known { // the host has restarted since the pass
		if _, err := l.Sessions.Load(ctx, s); err != nil {
			return err
		}
	}
	now := l.Clock.Now()
	if s.Row.OverflowAt > 0 && model.IsLater(m.Completed, s.Row.OverflowAt, now) {
		if err := l.clearOverflow(ctx, s); err != nil {
			return err
		}
	}
	return l.Models.NoteAccepted(ctx, m.Model, m.Usage.Prompt(), m.Completed, now)
}

func (l *Learner) clearOverflow(ctx context.Context, s *session.Session) error {
	if err := l.Store.ClearOverflow(ctx, s.Key); err != nil {
		return fmt.Errorf("the prompts fit again: %w", err)
	}
	s.Row.OverflowAt = 0
	return nil
}
