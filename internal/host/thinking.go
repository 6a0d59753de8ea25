package host

import (
	"context"

	"github.com/magicctx/magicctx-host/store"
)

// bindAnswer stores which prompt the thinking of an answer is bound to. It does so before any array contains
// the answer, because the harness may exit before the next pass. If the model does not bind its thinking, or
// if the request left with another wire than the newest pass's, bindAnswer does nothing. The caller holds the
// session's lock.
func (h *Host) bindAnswer(ctx context.Context, s *session, message, sent string) error {
	if sent == "" || message == "" || s.pipe == nil {
		return nil
	}
	b, ok := s.pipe.BindAnswer(message, sent)
	if !ok {
		return nil
	}
	ctx, cancel := h.guard.Writing(ctx)
	defer cancel()
	if err := h.Store.SaveThinking(ctx, s.key, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt}); err != nil {
		s.pipe.Unstore(b)
		return err
	}
	return nil
}
