package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// sendTimeout bounds the sending of the nudge message, including the wait for a pause in the session's turn.
// It must be shorter than the age after which a claim expires.
const sendTimeout = 100 * time.Second

// nudgeKey tells the client which message this is.
const nudgeKey = "output-to-drop"

// considerNudgeMessage sends the nudge message, which suggests that the model drop output. It sends it once
// in a session's life, when the model has finished a step, its tools have run, and enough could be dropped.
// midTurn says that the step had tools. The caller holds the session's lock.
func (h *Host) considerNudgeMessage(ctx context.Context, c Client, s *session, midTurn bool) error {
	if !s.canNudge() || s.nudging.baseline.limitTokens <= 0 {
		return nil
	}
	if !midTurn && s.mode().IsSubagent {
		return nil // a subagent's session ends with this step
	}
	told, err := h.told(ctx, s)
	if err != nil || told.Message == store.MessageDelivered {
		return err
	}
	pile := s.measured()
	reclaimable := pile.Reclaimable + s.nudging.turnTokens
	if s.nudging.hasReduced || !nudge.WantsMessage(reclaimable, s.nudging.baseline.usable(pile)) {
		if told.Message == store.MessagePending {
			return h.moveNudgeMessage(ctx, s, store.MessagePending, store.MessageNone)
		}
		return nil
	}
	if told.Message == store.MessageNone {
		if err := h.moveNudgeMessage(ctx, s, store.MessageNone, store.MessagePending); err != nil {
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
	// Sending runs outside the session's lane, because the harness's next request waits in that lane.
	h.sending.Go(func() { h.sendNudgeMessage(context.WithoutCancel(ctx), c, s.key, params) })
	return nil
}

// sendNudgeMessage sends a nudge message that this host has claimed. If sending fails, the next step tries
// again. If it succeeds, the message is never sent again.
func (h *Host) sendNudgeMessage(ctx context.Context, c Client, key store.Key, params schema.MessageSendParams) {
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	sendErr := c.Send(sendCtx, params)
	locking, stop := context.WithTimeout(ctx, sendTimeout)
	defer stop()
	s, err := h.sessions.lock(locking, key)
	if err != nil { // the claim stays in the store until it expires, and then a later step may send
		h.Log.Warn("state of a message not stored", "session", key.Session, "error", err)
		return
	}
	defer s.unlock()
	to := store.MessageDelivered
	if sendErr != nil {
		to = store.MessagePending
		h.Log.Info("nudge message not sent", "session", key.Session, "cause", sendErr)
	}
	if err := h.moveNudgeMessage(ctx, s, store.MessageClaimed, to); err != nil {
		h.Log.Warn("state of the nudge message not stored", "session", key.Session, "state", to, "error", err)
		h.stored(err)
	}
	if sendErr == nil {
		// Even if the store fails to record it, this process does not send the message twice.
		s.nudged = &store.NudgeRow{Message: store.MessageDelivered}
		if row, err := h.Store.Nudge(ctx, key); err == nil {
			s.nudged.Cycle = row.Cycle
			if row.Message == store.MessagePending { // another host thought that our claim had expired
				_, err = h.Store.MoveMessage(ctx, key, store.MessagePending, store.MessageDelivered)
				h.stored(err)
			}
		}
	}
}

// moveNudgeMessage moves the nudge message from one state to the next. If another host has moved it in the
// meantime, nothing happens. The next call reads the store again.
func (h *Host) moveNudgeMessage(ctx context.Context, s *session, from, to string) error {
	_, err := h.Store.MoveMessage(ctx, s.key, from, to)
	s.nudged = nil
	return err
}
