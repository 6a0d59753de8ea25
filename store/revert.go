package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

//go:embed query/compartments_withdraw.sql
var withdrawSQL string

// Withdraw is called after a revert has removed the message with the ordinal `from` and all later messages. It
// withdraws the compartments of these messages, and returns them in order. A withdrawn compartment may also summarise
// messages before `from`. These messages belong to the tail again. Withdraw does not change memories.
//
// Withdraw also deletes staged compartments of the removed messages. If a run of the historian is active, it can no
// longer publish compartments of these messages: the store answers with work.ErrStale. The head must be folded again
// (HeadRow.Refold).
func (s *History) Withdraw(ctx context.Context, key Key, from int) (withdrawn []chronicle.Compartment, err error) {
	err = s.db.Update(ctx, func(tx *database.Tx) error {
		withdrawn = nil
		err := tx.Scan(compartmentSelectSQL[publishedTable],
			func(row *sqlite3.Stmt) { withdrawn = append(withdrawn, readCompartment(row)) }, key.Harness, key.Session, from)
		if err != nil {
			return err
		}
		if err := cutStaging(tx, key, from); err != nil {
			return err
		}
		for _, query := range []string{withdrawSQL, compartmentDeleteSQL[publishedTable]} {
			if _, err := tx.Exec(query, key.Harness, key.Session, from); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`
			UPDATE agent_work
			SET cut = CASE WHEN cut = 0 THEN ?3 ELSE min(cut, ?3) END
			WHERE harness = ?1 AND session_id = ?2 AND holder <> ''`, key.Harness, key.Session, from)
		if err != nil || len(withdrawn) == 0 {
			return err
		}
		return raiseGeneration(tx, key)
	})
	if err != nil {
		return nil, fmt.Errorf("withdraw compartments of %s from message %d on: %w", key, from, err)
	}
	return withdrawn, nil
}

// Withdrawn returns the withdrawn compartments of a session in the order of their withdrawal.
func (s *History) Withdrawn(ctx context.Context, key Key) (rows []chronicle.Compartment, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, compartmentSelectSQL[withdrawnTable],
			func(row *sqlite3.Stmt) { rows = append(rows, readCompartment(row)) }, key.Harness, key.Session, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("read withdrawn compartments of %s: %w", key, err)
	}
	return rows, nil
}

// Restore is called when the messages of withdrawn compartments have come back. It appends these compartments to the
// published ones. seqs lists the numbers of the compartments in the order in which they are appended. `after` is the
// end of the history when the caller read it. If the history has changed since then, Restore returns work.ErrStale.
func (s *History) Restore(ctx context.Context, key Key, after HistoryEnd, seqs []int) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if err := checkEnd(tx, key, after); err != nil {
			return err
		}
		var rows []chronicle.Compartment
		for _, seq := range seqs {
			err := tx.Scan(compartmentSelectSQL[withdrawnTable], func(row *sqlite3.Stmt) {
				if r := readCompartment(row); r.Seq == seq {
					rows = append(rows, r)
				}
			}, key.Harness, key.Session, 0)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`DELETE FROM withdrawn_compartments WHERE harness = ?1 AND session_id = ?2 AND seq = ?3`,
				key.Harness, key.Session, seq); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		return insertCompartments(tx, publishedTable, key, after, rows, s.db.Clock.Now())
	})
	if err != nil {
		return fmt.Errorf("restore compartments of %s: %w", key, err)
	}
	return nil
}

// cutStaging deletes the staged compartments that contain the message with the ordinal `from` or a later message. If
// these messages include a part of the range of a partial recomp, cutStaging deletes all staged compartments of the
// recomp.
func cutStaging(tx *database.Tx, key Key, from int) error {
	isCut, err := tx.Exists(`
		SELECT 1 FROM histories
		WHERE harness = ?1 AND session_id = ?2 AND recomp = 'partial' AND recomp_end >= ?3`, key.Harness, key.Session, from)
	if err != nil {
		return err
	}
	if isCut {
		return removeStaging(tx, key)
	}
	_, err = tx.Exec(compartmentDeleteSQL[stagedTable], key.Harness, key.Session, from)
	return err
}
