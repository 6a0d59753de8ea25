package host

import (
	"context"
	"strings"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// TextComplete removes imitated tags, for example `§12§`, from the start of the model's text, before the harness stores
// it. It removes only tags that the session has given; see render.CutImitations.
//
// If the model binds its thinking, TextComplete does not change the text, because the thinking after the text will be
// bound to the text as the model wrote it. If no thinking follows, render removes the tags from the wire instead.
func (h *Host) TextComplete(ctx context.Context, c client.Client, p schema.TextCompleteParams) (schema.TextCompleteResult, error) {
	if err := h.bindText(ctx, c, p); err != nil {
		h.guard.Wrote(err) // the event at the end of the answer tries the binding again
	}
	text := p.Text
	if render.StartsWithTag(text) { // few texts start with a tag; all others are answered without loading the session
		var err error
		if text, err = h.withoutImitations(ctx, c, p.Session, text); err != nil {
			return schema.TextCompleteResult{}, err
		}
	}
	return schema.TextCompleteResult{Text: strings.Clone(text)}, nil
}

// bindText binds the thinking of the answer that contains the text. The event at the end of the answer also binds it.
// But a harness that runs only one prompt may exit before it sends this event. It cannot exit before the host has
// answered this call.
func (h *Host) bindText(ctx context.Context, c client.Client, p schema.TextCompleteParams) error {
	if p.Sent == "" {
		return nil
	}
	key, err := h.key(c, p.Session)
	if err != nil {
		return err
	}
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	return h.sessions.BindAnswer(ctx, s, p.Message, p.Sent)
}

func (h *Host) withoutImitations(ctx context.Context, c client.Client, session, text string) (string, error) {
	key, err := h.key(c, session)
	if err != nil {
		return "", err
	}
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer s.Unlock()
	state, err := h.sessions.StateOf(ctx, s)
	if err != nil {
		h.guard.Wrote(err)
		return "", err
	}
	if !s.Mode().Reduces {
		return text, nil // the model has not seen a tag that it could imitate
	}
	if state.Setup.Binds {
		return text, nil
	}
	return render.CutImitations(text, func(tag int) bool { return state.ByTag(tag) != nil }), nil
}
