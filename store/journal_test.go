package store

import (
	"testing"

	"github.com/magicctx/magicctx-host/store/database"
)

func TestJournalKeepsTheNewestPasses(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	const extra = 7
	must(t, s.Update(ctx, func(tx *database.Tx) error {
		if err := s.ensureSession(tx, key); err != nil {
			return err
		}
		for n := 1; n <= keptPasses+extra; n++ {
			if err := s.appendJournal(tx, key, commit(key, n).Pass); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := s.Reports.Passes(ctx, key, 0, 0)
	must(t, err)
	if len(got) != keptPasses || got[0].Pass != extra+1 || got[len(got)-1].Pass != keptPasses+extra {
		t.Errorf("kept %d passes, from %d to %d", len(got), got[0].Pass, got[len(got)-1].Pass)
	}
}

func TestPassesArePaged(t *testing.T) {
	s := openIn(t, t.TempDir())
	for n := 1; n <= 5; n++ {
		must(t, s.CommitPass(t.Context(), commit(key, n)))
	}
	got, err := s.Reports.Passes(t.Context(), key, 2, 2)
	must(t, err)
	same(t, "page", got, []PassRow{commit(key, 3).Pass, commit(key, 4).Pass})
}

func TestUsageCountsOncePerPass(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	for n := 1; n <= 2; n++ {
		must(t, s.CommitPass(ctx, commit(key, n)))
	}
	must(t, s.SaveUsage(ctx, key, 1, 5, 100, 10))
	must(t, s.SaveUsage(ctx, key, 1, 5, 100, 10)) // the same report once more
	must(t, s.SaveUsage(ctx, key, 2, 1, 10, 1))   // a partial report
	must(t, s.SaveUsage(ctx, key, 2, 7, 110, 20)) // the final report
	must(t, s.SaveUsage(ctx, key, 1, 6, 100, 10)) // a late correction
	must(t, s.SaveUsage(ctx, key, 9, 1000, 0, 0)) // a pass that is not in the journal
	must(t, s.SaveUsage(ctx, Key{Harness: "pi", Session: "unknown"}, 1, 1, 1, 1))

	got := load(t, s, key).Session
	if got.InputTokens != 6+7 || got.CacheRead != 100+110 || got.CacheWrite != 10+20 {
		t.Errorf("sums are %d/%d/%d", got.InputTokens, got.CacheRead, got.CacheWrite)
	}
	if want := 7 + 110 + 20; got.PromptTokens != want {
		t.Errorf("prompt is %d tokens, want %d of the newest pass", got.PromptTokens, want)
	}
	passes, err := s.Reports.Passes(ctx, key, 0, 0)
	must(t, err)
	same(t, "usage 1", passes[0].Usage, &Usage{Input: 6, CacheRead: 100, CacheWrite: 10})
	same(t, "usage 2", passes[1].Usage, &Usage{Input: 7, CacheRead: 110, CacheWrite: 20})
}
