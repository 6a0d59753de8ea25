package host

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// noteError looks for an overflow in an error of the harness. message is the
// step that the error is stored with, nil for an error of the session: OpenCode
// reports a refusal as both, or as the latter only when it compacts by itself.
func (h *Host) noteError(ctx context.Context, key store.Key, report json.Value, message *transcript.Message) error {
	o, ok := overflow.Detect(report)
	if !ok {
		return nil
	}
	s := h.sessions.lock(key)
	defer s.mu.Unlock()
	if !s.known {
		if _, err := h.load(ctx, s); err != nil {
			return err
		}
	}
	if s.row.Passes == 0 {
		return nil // not a prompt of ours
	}
	m := schema.Model{Provider: s.row.Provider, ID: s.row.Model}
	if message != nil {
		if s.pipe != nil && s.pipe.Has(message.Key) {
			return nil // a late report of a step that a pass has seen
		}
		if message.Model.ID != "" {
			m = message.Model
		}
	}
	return h.noteOverflow(ctx, s, m, o)
}

// noteOverflow keeps what a refusal says of the model, and makes the next pass
// of a primary session make room. A subagent's session ends with its refusal.
func (h *Host) noteOverflow(ctx context.Context, s *session, m schema.Model, o overflow.Overflow) error {
	now := h.Clock.Now()
	at := now
	if mode(s.row.Mode).isSubagent() {
		at = 0
	}
	isNew, err := h.Store.MarkOverflow(ctx, s.key, s.row.Passes, at)
	if err != nil || !isNew {
		return err
	}
	s.row.OverflowAt, s.row.OverflowPass = at, s.row.Passes
	h.Log.Warn("the provider refused a prompt for its length", "session", s.key.Session, "pass", s.row.Passes,
		"provider", m.Provider, "model", m.ID, "limitTokens", o.LimitTokens, "cause", o.Family)
	return h.learn(ctx, m, refused(o.LimitTokens, now))
}

// noteAccepted keeps what an answer proves: a prompt of this size fits. An
// overflow of the session that came before it is dealt with.
func (h *Host) noteAccepted(ctx context.Context, s *session, m *transcript.Message) error {
	if !s.known { // the host has started since
		if _, err := h.load(ctx, s); err != nil {
			return err
		}
	}
	if s.row.OverflowAt > 0 && m.Completed > s.row.OverflowAt {
		if err := h.clearOverflow(ctx, s); err != nil {
			return err
		}
	}
	return h.learn(ctx, m.Model, accepted(m.Usage.Prompt(), m.Completed))
}

// clearOverflow ends the session's need to make room.
func (h *Host) clearOverflow(ctx context.Context, s *session) error {
	if err := h.Store.ClearOverflow(ctx, s.key); err != nil {
		return fmt.Errorf("the prompts fit again: %w", err)
	}
	s.row.OverflowAt = 0
	return nil
}
