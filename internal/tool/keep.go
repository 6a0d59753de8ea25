package tool

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const maxKept = 1000

// Keep stores which pieces of a session the user wants to keep. It returns all pieces that the user now keeps.
func (t *Tools) Keep(ctx context.Context, p schema.KeepParams) (schema.KeepResult, error) {
	key := store.Key{Harness: string(p.Harness), Session: p.Session}
	if len(p.Tags) == 0 || len(p.Tags) > maxKept {
		return schema.KeepResult{}, client.Invalid("name 1 to %d pieces; there are %d", maxKept, len(p.Tags))
	}
	if err := t.keep(ctx, key, p); err != nil {
		return schema.KeepResult{}, err
	}
	t.Statuses.Publish(key)
	kept, err := t.Statuses.Kept(ctx, key)
	return schema.KeepResult{KeptUnits: kept}, err
}

func (t *Tools) keep(ctx context.Context, key store.Key, p schema.KeepParams) error {
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	state, err := t.Sessions.StateOf(ctx, s)
	if err != nil {
		return err
	}
	since := t.Clock.Now()
	if p.LetGo {
		since = 0
	}
	var tags []int // only pieces that are not kept yet, because a kept piece keeps its place
	for _, tag := range p.Tags {
		u := state.ByTag(tag)
		if err := refuseKeeping(s, u, tag, p.LetGo); err != nil {
			return err
		}
		if (u.Kept != 0) == p.LetGo {
			tags = append(tags, tag)
		}
	}
	if len(s.Unsaved) > 0 { // otherwise the database does not know the piece
		if err := t.Store.QueueDrops(ctx, key, session.RowsFromUnits(s.Unsaved), nil, store.ToolReplyRow{}); err != nil {
			t.Guard.Wrote(err)
			return err
		}
		s.Unsaved = nil
	}
	err = t.Store.Pieces.Keep(ctx, key.Harness, key.Session, tags, since)
	t.Guard.Wrote(err)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		state.Keep(tag, since)
	}
	return nil
}

func refuseKeeping(s *session.Session, u *frozen.Unit, tag int, letGo bool) error {
	switch {
	case u == nil:
		return client.Invalid("this session has no piece §%d§", tag)
	case letGo:
		return nil
	case u.Covered:
		return client.Invalid("§%d§ cannot come back: a summary stands for its message. %s history expand %s shows the message, word for word", tag, program.Name(), format.Clean(s.Key.Session))
	case s.Pipe != nil && !s.Pipe.Has(u.MessageKey):
		return client.Invalid("§%d§ cannot come back: its message was undone, or left with a branch", tag)
	}
	return nil
}
