package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Staging is the state of an unfinished recomp. It survives a killed host, so no answers are lost.
type Staging struct {
	// Start and End are the ordinals of a partial recomp. For a full recomp, both are 0.
	Start, End int
	// Compartments are the new history so far, from message 1.
	Compartments []chronicle.Compartment
}

// SaveStaging replaces the staged compartments of a session. holder must hold the lease. It fails with
// work.ErrLeaseLost or work.ErrStale.
func (s *History) SaveStaging(ctx context.Context, key Key, holder string, st Staging) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		now, last := s.db.Clock.Now(), st.End
		if n := len(st.Compartments); n > 0 {
			last = max(last, st.Compartments[n-1].End)
		}
		if err := work.CheckLease(tx, HistorianOf(key), holder, last, now); err != nil {
			return err
		}
		if err := ensureHistory(tx, key); err != nil {
			return err
		}
		if _, err := tx.Exec(compartmentDeleteSQL[stagedTable], key.Harness, key.Session, 0); err != nil {
			return err
		}
		if err := insertCompartments(tx, stagedTable, key, HistoryEnd{Ordinal: 1}, st.Compartments, now); err != nil {
			return err
		}
		kind := "full"
		if st.End > 0 {
			kind = "partial"
		}
		_, err := tx.Exec(`
			UPDATE histories
			SET recomp = ?3, recomp_start = ?4, recomp_end = ?5
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, kind, st.Start, st.End)
		return err
	})
	if err != nil {
		return fmt.Errorf("stage recomp of %s: %w", key, err)
	}
	return nil
}

// Staged returns the unfinished recomp of a session. If there is none, found is false.
func (s *History) Staged(ctx context.Context, key Key) (st Staging, found bool, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		err := file.Scan(c, `
			SELECT recomp_start, recomp_end
			FROM histories
			WHERE harness = ? AND session_id = ? AND recomp <> ''`,
			func(row *sqlite3.Stmt) { st.Start, st.End, found = row.ColumnInt(0), row.ColumnInt(1), true },
			key.Harness, key.Session)
		if err != nil || !found {
			return err
		}
		return file.Scan(c, compartmentSelectSQL[stagedTable],
			func(row *sqlite3.Stmt) { st.Compartments = append(st.Compartments, readCompartment(row)) }, key.Harness, key.Session, 0)
	})
	if err != nil {
		return Staging{}, false, fmt.Errorf("read staged recomp of %s: %w", key, err)
	}
	return st, found, nil
}

func (s *History) DiscardStaging(ctx context.Context, key Key) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error { return removeStaging(tx, key) })
	if err != nil {
		return fmt.Errorf("discard recomp of %s: %w", key, err)
	}
	return nil
}

func removeStaging(tx *database.Tx, key Key) error {
	if _, err := tx.Exec(compartmentDeleteSQL[stagedTable], key.Harness, key.Session, 0); err != nil {
		return fmt.Errorf("staged compartments: %w", err)
	}
	_, err := tx.Exec(`
		UPDATE histories
		SET recomp = '', recomp_start = 0, recomp_end = 0
		WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session)
	return err
}

func removeForPromotion(tx *database.Tx, key Key) error {
	if _, err := tx.Exec(compartmentDeleteSQL[publishedTable], key.Harness, key.Session, 0); err != nil {
		return fmt.Errorf("replaced compartments: %w", err)
	}
	if err := removeStaging(tx, key); err != nil {
		return err
	}
	return raiseGeneration(tx, key)
}

// After raiseGeneration, the head is out of date: the next pass that may bust folds it again.
func raiseGeneration(tx *database.Tx, key Key) error {
	_, err := tx.Exec(`
		UPDATE histories
		SET generation = generation + 1
		WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session)
	return err
}
