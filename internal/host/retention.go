package host

import (
	"context"
	"errors"
	"time"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/retention"
)

// tidyEvery is how often a running host deletes expired data. The first time is tidyAfter the start, because at
// the start the user waits for the first answer.
const (
	tidyEvery = 24 * time.Hour
	tidyAfter = 5 * time.Second
)

// tidyShare lets tidying hold the database for at most about a twentieth of the time: after each transaction, it
// pauses for tidyShare times the duration of the transaction.
const tidyShare = 20

// KeepTidy deletes expired sessions, tool replies and models, soon after the
// start and then once a day, until ctx ends. It works in short transactions with
// pauses, so that no pass waits for it.
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
	// before returns the time before which unused data has expired. It counts from agreed (see retention.Tidied)
	// and not from now, because a single clock reading may be wrong.
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

// tidyStep runs one short step with the host, and then pauses. Between two steps the store may be closed.
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

// forgetSome deletes a part of an expired session. It holds the session's lock, so no other call of the
// session runs meanwhile. The next call starts from the rows that are left in the store.
func (h *Host) forgetSome(ctx context.Context, key store.Key, before int64) (isDone bool, err error) {
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return false, err
	}
	defer h.sessions.Remove(key)
	defer s.Unlock()
	if err := h.markers.Remove(ctx, key); err != nil {
		// If we deleted these rows while the marker stays, the harness's array would always begin at the marker.
		// So we keep the session until its marker can be removed.
		h.Log.Warn("expired session kept", "session", key.Session, "error", err)
		return true, nil
	}
	isDone, err = retention.ForgetSome(ctx, h.Store, key, before)
	s.Forget()
	return isDone, err
}
