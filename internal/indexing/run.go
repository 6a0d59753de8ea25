package indexing

import (
	"context"
	"errors"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/store/index"
)

type Progress struct {
	Sessions, Of int
	Skipped      int
	Messages     int
	Commits      int
}

// Run reads all sessions on this machine into the index, and deletes sessions from the index that no longer exist. If
// it cannot read a file or a session, it calls `failed` and continues. It ends early only if ctx ends, or if the index
// cannot be written.
func (x *Indexer) Run(ctx context.Context, progress func(Progress), failed func(what string, err error)) (p Progress, err error) {
	sources, err := x.Reader.List(ctx, failed)
	if err != nil {
		return p, err
	}
	for _, source := range sources {
		p.Of += len(source.Sessions)
	}
	done, repositories := map[index.Session]bool{}, map[string]bool{}
	for _, source := range sources {
		for _, stored := range source.Sessions {
			id := index.Session{Harness: string(stored.Harness), ID: stored.ID}
			if done[id] { // an older copy of the session
				p.Sessions++
				continue
			}
			done[id] = true
			identity := x.projectOf(ctx, stored.Directory)
			n, err := x.Session(ctx, x.known(ctx, stored), identity)
			p.Messages += n
			if err == nil && x.LoadConfig != nil && !repositories[stored.Directory] {
				repositories[stored.Directory] = true
				commits, commitsErr := x.Commits(ctx, stored.Directory, identity, x.LoadConfig(stored.Harness, stored.Directory))
				p.Commits += commits
				if commitsErr != nil && ctx.Err() == nil && !errors.Is(commitsErr, index.ErrWrite) {
					failed("the commits of "+stored.Directory, commitsErr)
				} else {
					err = commitsErr
				}
			}
			switch {
			case ctx.Err() != nil:
				return p, context.Cause(ctx)
			case errors.Is(err, index.ErrWrite):
				return p, err
			case err != nil:
				failed(string(stored.Harness)+" session "+stored.ID, err)
			case n == 0:
				p.Skipped++
			}
			p.Sessions++
			progress(p)
		}
		if err := x.forget(ctx, source); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (x *Indexer) known(ctx context.Context, stored rawhistory.Stored) rawhistory.Stored {
	if x.Known != nil {
		x.Known(ctx, &stored.Session)
	}
	return stored
}

// forget deletes the sessions that are no longer in their source. But if the source itself is missing, it may be on a
// disk that is not connected, so its sessions stay.
func (x *Indexer) forget(ctx context.Context, source rawhistory.Source) error {
	return x.Index.Update(ctx, func(tx *index.Tx) error {
		rows, err := tx.SessionsIn(source.Path)
		if err != nil {
			return err
		}
		for _, stored := range source.Sessions {
			delete(rows, stored.ID)
		}
		for _, row := range rows {
			if err := tx.Forget(row); err != nil {
				return err
			}
		}
		return nil
	})
}
