package host

import (
	"context"
	"errors"
	"time"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/retention"
)

// tidyAfter delays the first tidying of a new host. The user is waiting for the host's first answer, which must come
// first.
const (
	tidyEvery = 24 * time.Hour
	tidyAfter = 5 * time.Second
)

// After each transaction, tidying pauses tidyShare times as long as the transaction took. So it uses the database only
// about a twentieth of the time.
const tidyShare = 20

// KeepTidy deletes sessions, tool replies and models that nobody has used for a long time, and continues until ctx
// ends. It works in short transactions with pauses between them, so that no pass has to wait.
func (s *Standby) KeepTidy(ctx context.Context) {
	timer := time.NewTimer(tidyAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("old sessions are not deleted for now", "cause", err)
		}
		timer.Reset(tidyEvery)
	}
}

func (s *Standby) tidy(ctx context.Context) error {
	var expired []store.Key
	// `before` returns the time before which unused data has expired. It counts back from `agreed`, the time of an
	// earlier tidy, because the clock may be wrong now (see retention.Tidied).
	var before func(kept time.Duration) int64
	err := s.tidyStep(ctx, func(h *Host) error {
		agreed, err := retention.Tidied(ctx, h.Store, h.Clock.Now())
		if err != nil {
			return err
		}
		before = func(kept time.Duration) int64 { return agreed - kept.Milliseconds() }
		expired, err = retention.Expired(ctx, h.Store, before(retention.KeptSession))
		return err
	})
	for _, key := range expired {
		isDone := false
		for err == nil && !isDone {
			err = s.tidyStep(ctx, func(h *Host) (err error) {
				isDone, err = h.forgetSome(ctx, key, before(retention.KeptSession))
				return err
			})
		}
	}
	isDone := false
	for err == nil && !isDone {
		err = s.tidyStep(ctx, func(h *Host) (err error) {
			isDone, err = retention.ForgetReplies(ctx, h.Store, before(retention.KeptReply))
			return err
		})
	}
	if err != nil {
		return err
	}
	return s.tidyStep(ctx, func(h *Host) error {
		if len(expired) > 0 {
			h.Log.Info("expired sessions deleted", "sessions", len(expired))
		}
		return errors.Join(
			h.Store.Models.Forget(ctx, before(retention.KeptModel)),
			h.Store.Memories.ForgetChanges(ctx, before(retention.KeptSession)),
			h.Store.Calls.Forget(ctx, before(retention.KeptSession)),
			h.Store.Waiting.ForgetOld(time.UnixMilli(before(retention.KeptSession))))
	})
}

// tidyStep runs one step of the tidying, and pauses after it. It asks for the host each time, because the store may be
// closed between two steps.
func (s *Standby) tidyStep(ctx context.Context, step func(*Host) error) error {
	h, release, err := s.Current(ctx)
	if err != nil {
		return err
	}
	started := time.Now()
	err = step(h)
	release()
	if err != nil {
		return err
	}
	pause := time.NewTimer(tidyShare * time.Since(started))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// forgetSome deletes a part of an expired session. It holds the session's lock, so that no other call of the session
// runs at the same time. If the user continues the session, the next call starts from the rows that are still in the
// store.
func (h *Host) forgetSome(ctx context.Context, key store.Key, before int64) (isDone bool, err error) {
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return false, err
	}
	defer h.sessions.Remove(key)
	defer s.Unlock()
	if err := h.markers.Remove(ctx, key); err != nil {
		// If the session's rows were deleted now, nothing could remove its marker later, and the harness's array would
		// begin at the marker for ever. So the session stays until its marker can be removed.
		h.Log.Warn("expired session kept", "session", key.Session, "error", err)
		return true, nil
	}
	isDone, err = retention.ForgetSome(ctx, h.Store, key, before)
	s.Forget()
	return isDone, err
}
