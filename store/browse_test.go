package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/file"
)

func TestBrowseWithAndWithoutAHost(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	_, err := s.SaveTitle(t.Context(), key, "A question")
	must(t, err)
	first, second := compartment(1, 6), withScores(compartment(7, 9))
	must(t, s.History.Publish(t.Context(), publication(t, s, first, second)))
	s.Clock.(*clock.Manual).Advance(time.Minute)
	later := Key{"pi", "later"}
	must(t, s.CommitPass(t.Context(), commit(later, 1)))
	if ok, err := s.Leases.Acquire(t.Context(), HistorianOf(later), runner); err != nil || !ok {
		t.Fatal(ok, err)
	}
	p := publication(t, s, compartment(1, 2))
	p.Key, p.After = later, HistoryEnd{Ordinal: 1}
	must(t, s.History.Publish(t.Context(), p))
	must(t, s.CommitPass(t.Context(), commit(Key{"pi", "without"}, 1)))
	directory := load(t, s, key).Session.Directory

	check := func(when string) {
		t.Helper()
		must(t, Browse(t.Context(), dir, func(b *Browser) error {
			all, err := b.Histories()
			must(t, err)
			if len(all) != 2 || all[0].Key != later || all[1].Key != key {
				t.Fatalf("%s: %+v", when, all)
			}
			// The first compartment covers 600 tokens with a fidelity of 0.75, the second 300 with 0.25.
			same(t, when, all[1], HistoryOverview{
				SessionName:  SessionName{Key: key, Title: "A question", Directory: directory},
				Compartments: 2, Messages: 9, RawTokens: 900, Fidelity: (600*0.75 + 300*0.25) / 900, NewestAt: now,
			})
			rows, err := b.Compartments(key)
			must(t, err)
			same(t, when, rows, stored(first, second))
			sessions, err := b.Sessions()
			must(t, err)
			if len(sessions) != 3 {
				t.Errorf("%s: %d sessions", when, len(sessions))
			}
			return nil
		}))
	}
	check("beside a host")
	must(t, s.Close())
	check("without a host")
}

func TestBrowserSeesOneMoment(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	must(t, s.History.Publish(t.Context(), publication(t, s, compartment(1, 6))))
	must(t, Browse(t.Context(), dir, func(b *Browser) error {
		must(t, s.DeleteSession(t.Context(), key))
		rows, err := b.Compartments(key)
		if len(rows) != 1 {
			t.Errorf("%d compartments", len(rows))
		}
		return err
	}))
}

func TestBrowseSaysWhyItCannot(t *testing.T) {
	version := func(change int) func(dir string) {
		return func(dir string) {
			s := openIn(t, dir)
			path, newest := s.Path(), s.SchemaVersion()
			must(t, s.Close())
			c, err := sqlite3.Open(path)
			must(t, err)
			must(t, c.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, newest+change)))
			must(t, c.Close())
		}
	}
	for _, c := range []struct {
		name string
		lay  func(dir string)
		want error
	}{
		{"missing", func(string) {}, ErrMissing},
		{"newer", version(+1), file.ErrNewerSchema},
		{"older", version(-1), file.ErrOlderSchema},
		{"another program's", func(dir string) {
			c, err := sqlite3.Open(filepath.Join(dir, "magicctx.db"))
			must(t, err)
			must(t, c.Exec(`CREATE TABLE t (x)`))
			must(t, c.Close())
		}, ErrForeign},
		{"damaged", func(dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "magicctx.db"), []byte("no database"), 0o600))
		}, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.lay(dir)
			err := Browse(t.Context(), dir, func(*Browser) error { return errors.New("it was read") })
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	must(t, openIn(t, dir).Close())
	err := Browse(ctx, dir, func(b *Browser) error { _, err := b.Sessions(); return err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v with a context that is over", err)
	}
}
