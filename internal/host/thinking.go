package host

import (
	"context"

	"github.com/magicctx/magicctx-host/store"
)

// bindAnswer stores which prompt the thinking of an answer is bound to, while the
// answer is in no array yet: the harness may end before the next pass. It does
// nothing where the model does not bind its thinking, or where the request left
// with another wire than that of the newest pass. The caller holds s.mu.
func (h *Host) bindAnswer(ctx context.Context, s *session, message, sent string) error {
	if sent == "" || message == "" || s.pipe == nil {
		return nil
	}
	b, ok := s.pipe.BindAnswer(message, sent)
	if !ok {
		return nil
	}
	ctx, cancel := h.writing(ctx)
	defer cancel()
	if err := h.Store.SaveThinking(ctx, s.key, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt}); err != nil {
		s.pipe.Unstore(b)
		return err
	}
	return nil
}
