package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

//go:embed query/history_cut.sql
var historyCutSQL string

// InvalidateCompartments records that a revert has removed all messages from ordinal from on. It removes the
// compartments that cover one of these messages, with the events of these messages, and returns the
// compartments in order. Earlier messages that these compartments covered belong to the tail again.
// Observations about the user and memories stay, because the user did say them.
//
// InvalidateCompartments also removes staged compartments of these messages. A run that holds the session's
// lease can no longer publish one of them (ErrStale). If a compartment was removed, the head has to be folded
// again (HeadRow.Refold).
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

// cutStaging removes the staged compartments of the messages from ordinal from on. If the range of a partial
// recomp has lost a message, cutStaging removes the whole recomp.
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
