package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/overflow"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// noteError looks for an overflow in an error that the harness reports. If the error is stored with a step,
// message is that step. If it is an error of the session, message is nil. A harness may report a refusal both
// ways, or only as an error of the session.
func (h *Host) noteError(ctx context.Context, key store.Key, report json.Value, message *transcript.Message) error {
	o, ok := overflow.Detect(report)
	if !ok {
		return nil
	}
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.unlock()
	if !s.known {
		if _, err := h.load(ctx, s); err != nil {
			return err
		}
	}
	if s.row.Passes == 0 {
		return nil // the refused prompt belongs to no pass
	}
	m := schema.Model{Provider: s.row.Provider, ID: s.row.Model}
	if message != nil {
		if s.pipe != nil && s.pipe.Has(message.Key) {
			return nil // a late report: a pass has already seen this step
		}
		if message.Model.ID != "" {
			m = message.Model
		}
	}
	return h.noteOverflow(ctx, s, m, o)
}

// noteOverflow records the limit that a refusal shows. In a primary session, it makes the next pass free
// space. A subagent's session ends with the refusal, so it has no next pass.
func (h *Host) noteOverflow(ctx context.Context, s *session, m schema.Model, o overflow.Overflow) error {
	now := h.Clock.Now()
	at := now
	if s.mode().IsSubagent {
		at = 0
	}
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	isNew, err := h.Store.MarkOverflow(writing, s.key, s.row.Passes, at, o.PromptTokens)
	if err != nil { // the host remembers in memory what the store could not write in time
		isNew = s.row.OverflowPass != s.row.Passes
	}
	if !isNew {
		return err
	}
	s.row.OverflowAt, s.row.OverflowPass, s.row.OverflowTokens = at, s.row.Passes, o.PromptTokens
	h.Log.Warn("the provider refused a prompt for its length", "session", s.key.Session, "pass", s.row.Passes,
		"provider", m.Provider, "model", m.ID, "limitTokens", o.LimitTokens, "promptTokens", o.PromptTokens, "cause", o.Family)
	return errors.Join(err, h.models.NoteRefusal(writing, m, o.LimitTokens, now))
}

// NoteAccepted records that the provider answered a prompt, which proves that a prompt of this size fits. It
// also clears an earlier overflow of the session.
func (h *Host) noteAccepted(ctx context.Context, s *session, m *transcript.Message) error {
	if !s.known { // the host has restarted since the pass
		if _, err := h.load(ctx, s); err != nil {
			return err
		}
	}
	now := h.Clock.Now()
	if s.row.OverflowAt > 0 && model.IsLater(m.Completed, s.row.OverflowAt, now) {
		if err := h.clearOverflow(ctx, s); err != nil {
			return err
		}
	}
	return h.models.NoteAccepted(ctx, m.Model, m.Usage.Prompt(), m.Completed, now)
}

// clearOverflow records that the session no longer needs to free space.
func (h *Host) clearOverflow(ctx context.Context, s *session) error {
	if err := h.Store.ClearOverflow(ctx, s.key); err != nil {
		return fmt.Errorf("the prompts fit again: %w", err)
	}
	s.row.OverflowAt = 0
	return nil
}
