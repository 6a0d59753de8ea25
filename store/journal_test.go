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
	want := []PassRow{commit(key, 3).Pass, commit(key, 4).Pass}
	same(t, "page", got, want)
}
