package store

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestReadersSeeWholePasses(t *testing.T) {
	s := openIn(t, t.TempDir())
	const passes = 300
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	g, ctx := errgroup.WithContext(soon(t))
	g.Go(func() error {
		for n := 2; n <= passes; n++ {
			p := commit(key, n)
			p.Edits = []EditRow{{Tag: 2*n - 3, Kind: "drop", Pass: n}}
			if err := s.CommitPass(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	for range s.Reader().Stats().MaxOpenConnections + 1 {
		g.Go(func() error {
			for seen := 0; seen < passes; {
				snap, found, err := s.Load(ctx, key)
				if err != nil || !found {
					return fmt.Errorf("load: %v, %w", found, err)
				}
				n := snap.Session.Passes
				if n < seen {
					return fmt.Errorf("pass %d came after pass %d", n, seen)
				}
				if len(snap.Units) != 2*n || len(snap.Edits) != n-1 {
					return fmt.Errorf("after pass %d: %d units, %d edits", n, len(snap.Units), len(snap.Edits))
				}
				seen = n
			}
			return nil
		})
	}
	must(t, g.Wait())
}

func TestWritersTakeTurns(t *testing.T) {
	s := openIn(t, t.TempDir())
	g, ctx := errgroup.WithContext(soon(t))
	const sessions, passes = 8, 20
	for i := range sessions {
		g.Go(func() error {
			for n := 1; n <= passes; n++ {
				if err := s.CommitPass(ctx, commit(Key{Harness: "pi", Session: fmt.Sprint(i)}, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, g.Wait())
	all, _, err := s.Reports.All(t.Context(), 0)
	must(t, err)
	for _, sum := range all {
		if sum.Units != 2*passes {
			t.Errorf("%s has %d units", sum.Key, sum.Units)
		}
	}
	if len(all) != sessions {
		t.Errorf("%d sessions", len(all))
	}
}
