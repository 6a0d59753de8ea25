package host

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// harnessEvent is the part of OpenCode's events that is used here.
type harnessEvent struct {
	Type       string `json:"type"`
	Properties struct {
		SessionID string     `json:"sessionID"`
		MessageID string     `json:"messageID"`
		Info      json.Value `json:"info"`
		Error     json.Value `json:"error"`
	} `json:"properties"`
}

// Event takes note of what happens in the harness between passes. Events are lost
// when the host is down, so nothing that a wire must be right about comes this way
// only: a refusal that was missed makes room when the next one is heard of.
func (h *Host) Event(ctx context.Context, c Client, p schema.EventParams) (schema.Empty, error) {
	var e harnessEvent
	if err := json.Unmarshal(p.Event, &e); err != nil {
		return schema.Empty{}, invalid("event: %v", err)
	}
	session := p.Session
	if session == "" {
		session = e.Properties.SessionID
	}
	if session == "" {
		return schema.Empty{}, nil
	}
	key, err := h.key(c, session)
	if err != nil {
		return schema.Empty{}, err
	}
	switch e.Type {
	case "session.created", "session.updated":
		err = h.noteTitle(ctx, key, e.Properties.Info)
	case "session.deleted":
		h.sessions.remove(key)
		h.titles.forget(key)
		err = h.Store.DeleteSession(ctx, key)
	case "message.removed":
		err = h.forgetMessage(ctx, key, e.Properties.MessageID)
	case "message.updated":
		err = h.noteStep(ctx, c, key, e.Properties.Info, p.Sent)
	case "session.error":
		err = h.noteError(ctx, key, e.Properties.Error, nil)
	}
	if err != nil { // most events write nothing, so their success says nothing
		h.stored(err)
	}
	return schema.Empty{}, err
}

func (h *Host) forgetMessage(ctx context.Context, key store.Key, message string) error {
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.unlock()
	writing, cancel := h.writing(ctx)
	defer cancel()
	if err := h.Store.RemoveMessages(writing, key, []string{message}); err != nil {
		return err
	}
	if s.pipe != nil {
		s.pipe.Forget([]string{message})
	}
	return nil
}

// noteStep takes note of a step of the model: what was refused, or what the
// provider reported for it.
func (h *Host) noteStep(ctx context.Context, c Client, key store.Key, info json.Value, sent string) error {
	codec, err := codecOf(key.Harness)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(struct {
		Info json.Value `json:"info"`
	}{info})
	if err != nil {
		return nil // an event without info
	}
	m := codec.Decode(raw)
	if m.Errored {
		var failed struct {
			Error json.Value `json:"error"`
		}
		if err := json.Unmarshal(info, &failed); err != nil {
			return nil // decoded above, so it reads
		}
		if err := h.noteError(ctx, key, failed.Error, &m); err != nil {
			return err
		}
	}
	if m.Completed == 0 {
		return nil // the first of its updates
	}
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.unlock()
	writing, cancel := h.writing(ctx)
	defer cancel()
	isAccepted := !m.Errored && m.Usage.Prompt() > 0
	if isAccepted {
		if err := h.noteAccepted(writing, s, &m); err != nil {
			return err
		}
	}
	if s.pipe == nil || s.pipe.Has(m.Key) {
		return nil // a late update of a step whose pass is past
	}
	// An aborted answer reports no usage, and its thinking is sent like that of any other.
	if err := h.bindAnswer(writing, s, m.Key, sent); err != nil || !isAccepted {
		return err
	}
	if err := h.Store.SaveUsage(writing, key, s.row.Passes, m.Usage.Input, m.Usage.CacheRead, m.Usage.CacheWrite); err != nil {
		return err
	}
	if err := h.notePause(writing, s, m.Model, m.Usage); err != nil {
		return err
	}
	return h.considerNudgeMessage(ctx, c, s, &m)
}
