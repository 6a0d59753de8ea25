package indexing

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

// KnownIn returns a function that completes a session with facts that only the host's database in dir has: the ordinals
// of its messages, and which lines the user typed.
func KnownIn(dir string) func(context.Context, *rawhistory.Session) {
	var known map[store.Key]bool
	return func(ctx context.Context, s *rawhistory.Session) {
		key := store.Key{Harness: string(s.Harness), Session: s.ID}
		if known != nil && !known[key] {
			return
		}
		_ = store.Browse(ctx, dir, func(b *store.Browser) error { // without the database, messages count from 1
			if known == nil {
				known = map[store.Key]bool{}
				all, err := b.Sessions()
				if err != nil {
					return err
				}
				for _, name := range all {
					known[name.Key] = true
				}
			}
			if !known[key] {
				return nil
			}
			rows, err := b.Compartments(key)
			if err != nil {
				return err
			}
			for _, c := range rows {
				s.Know(c.Start, c.Keys)
			}
			s.Typed, err = b.Typed(key)
			return err
		})
		if known == nil {
			known = map[store.Key]bool{}
		}
	}
}

// Without an index, SessionsIn returns 0.
func SessionsIn(ctx context.Context, dir string) (n int) {
	x, err := index.OpenReadOnly(ctx, dir)
	if err != nil {
		return 0
	}
	defer x.Close()
	_ = x.View(ctx, func(v *index.View) (err error) { // a damaged index is made anew
		n, _, err = v.Counts()
		return err
	})
	return n
}
