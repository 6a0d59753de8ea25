package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

//go:embed query/history_cut.sql
var historyCutSQL string

// InvalidateCompartments records that a revert has taken the messages from the
// ordinal from on. It removes the compartments that cover one of them, with the
// events of these messages, and returns them in their order. The messages before
// from that they have covered belong to the tail again. Observations about the
// user and memories stay: the user has said them.
//
// What a recomp has staged of these messages is removed as well. A run that holds
// the session's lease cannot publish one of them (ErrStale). If a compartment was
// removed, the head has to be folded anew (HeadRow.Refold).
func (s *Store) InvalidateCompartments(ctx context.Context, key Key, from int) (removed []CompartmentRow, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		removed = nil
		err := tx.scan(compartmentSelectSQL[publishedTable],
			func(row *sqlite3.Stmt) { removed = append(removed, readCompartment(row)) }, key.Harness, key.Session, from)
		if err != nil {
			return err
		}
		if err := cutStaging(tx, key, from); err != nil {
			return err
		}
		for _, query := range []string{compartmentDeleteSQL[publishedTable], eventDeleteSQL} {
			if _, err := tx.exec(query, key.Harness, key.Session, from); err != nil {
				return err
			}
		}
		_, err = tx.exec(historyCutSQL, key.Harness, key.Session, from, len(removed) > 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("invalidate compartments of %s from message %d on: %w", key, from, err)
	}
	return removed, nil
}

// cutStaging removes what a recomp has staged of the messages from from on. A
// partial recomp whose range has lost a message is removed whole.
func cutStaging(tx *transaction, key Key, from int) error {
	isCut, err := tx.exists(`
		SELECT 1 FROM histories
		WHERE harness = ?1 AND session_id = ?2 AND recomp = 'partial' AND recomp_end >= ?3`, key.Harness, key.Session, from)
	if err != nil {
		return err
	}
	if isCut {
		return removeStaging(tx, key)
	}
	_, err = tx.exec(compartmentDeleteSQL[stagedTable], key.Harness, key.Session, from)
	return err
}
