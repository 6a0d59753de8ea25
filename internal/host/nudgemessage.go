package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// sendTimeout bounds the sending of a message, the wait for a pause in its turn
// included. It is less than the age at which a claim counts as dead.
const sendTimeout = 100 * time.Second

// nudgeKey names the message to the client.
const nudgeKey = "output-to-drop"

// The ways in which a step of the model ends that leave its session in order.
const (
	finishStop      = "stop"
	finishToolCalls = "tool-calls"
)

// considerMessage sends the one message of a session's life about output to
// drop, when the model has finished a step and so much could go that it is time.
// The caller holds the session.
func (h *Host) considerMessage(ctx context.Context, c Client, s *session, m *transcript.Message) error {
	midTurn := m.Finish == finishToolCalls
	if !midTurn && m.Finish != finishStop || !s.canNudge() || s.nudging.baseline.limitTokens <= 0 {
		return nil
	}
	if !midTurn && mode(s.row.Mode).isSubagent() {
		return nil // its session is over
	}
	told, err := h.told(ctx, s)
	if err != nil || told.Message == store.MessageDelivered {
		return err
	}
	pile := s.measured()
	reclaimable := pile.Reclaimable + s.nudging.turnTokens
	if s.nudging.hasReduced || !nudge.WantsMessage(reclaimable, s.nudging.baseline.usable(pile)) {
		if told.Message == store.MessagePending {
			return h.moveMessage(ctx, s, store.MessagePending, store.MessageNone)
		}
		return nil
	}
	if told.Message == store.MessageNone {
		if err := h.moveMessage(ctx, s, store.MessageNone, store.MessagePending); err != nil {
			return err
		}
	}
	claimed, err := h.Store.ClaimMessage(ctx, s.key, h.Clock.Now())
	s.nudged = nil
	if err != nil || !claimed {
		return err
	}
	params := schema.MessageSendParams{
		Directory: s.row.Directory, Session: s.key.Session, Text: nudgeText("nudge_message.md", reclaimable, pile.Oldest),
		Synthetic: true, MidTurn: midTurn, Key: nudgeKey,
	}
	// Not in the session's lane, in which the harness's next request waits.
	h.sending.Go(func() { h.sendMessage(context.WithoutCancel(ctx), c, s.key, params) })
	return nil
}

// sendMessage sends a claimed message. What could not be sent is tried again
// with the next step; what was sent never is.
func (h *Host) sendMessage(ctx context.Context, c Client, key store.Key, params schema.MessageSendParams) {
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	sendErr := c.Send(sendCtx, params)
	s := h.sessions.lock(key)
	defer s.mu.Unlock()
	to := store.MessageDelivered
	if sendErr != nil {
		to = store.MessagePending
		h.Log.Info("message not sent", "session", key.Session, "cause", sendErr)
	}
	if err := h.moveMessage(ctx, s, store.MessageClaimed, to); err != nil {
		h.Log.Warn("state of a message not stored", "session", key.Session, "state", to, "error", err)
		h.stored(err)
	}
	if sendErr == nil {
		// Whatever the store says: this process does not send it twice.
		s.nudged = &store.NudgeRow{Message: store.MessageDelivered}
		if row, err := h.Store.Nudge(ctx, key); err == nil {
			s.nudged.Cycle = row.Cycle
			if row.Message == store.MessagePending { // somebody took our claim for dead
				_, err = h.Store.MoveMessage(ctx, key, store.MessagePending, store.MessageDelivered)
				h.stored(err)
			}
		}
	}
}

// moveMessage moves the message if it is where the caller saw it; if not,
// somebody else did, and the store is asked again next time.
func (h *Host) moveMessage(ctx context.Context, s *session, from, to string) error {
	_, err := h.Store.MoveMessage(ctx, s.key, from, to)
	s.nudged = nil
	return err
}
