package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// Markers are the compaction markers of sessions.
type Markers struct{ db *database.DB }

// ClearPending removes the pending compaction marker of a session, but only if it is still `marker`.
func (s *Markers) ClearPending(ctx context.Context, key Key, marker string) (cleared bool, err error) {
	err = s.db.Update(ctx, func(tx *database.Tx) (err error) {
		cleared, err = clearPendingMarker(tx, key, marker)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("clear pending marker of %s: %w", key, err)
	}
	return cleared, nil
}

func clearPendingMarker(tx *database.Tx, key Key, marker string) (cleared bool, err error) {
	n, err := tx.Exec(`
		UPDATE histories
		SET pending_marker = ''
		WHERE harness = ?1 AND session_id = ?2 AND pending_marker = ?3 AND pending_marker <> ''`, key.Harness, key.Session, marker)
	return n > 0, err
}

// SaveApplied records that the harness's history now has the compaction marker `applied`, or no marker if `applied` is
// "". `done` is the pending marker that the caller has carried out. SaveApplied clears it, unless a newer one has
// replaced it. If the session was deleted meanwhile, SaveApplied does not create it again.
func (s *Markers) SaveApplied(ctx context.Context, key Key, applied, done string) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if err := ensureHistory(tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(`
			UPDATE histories
			SET applied_marker = ?3
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, applied)
		if err != nil {
			return err
		}
		_, err = clearPendingMarker(tx, key, done)
		return err
	})
	if err != nil {
		return fmt.Errorf("save applied marker of %s: %w", key, err)
	}
	return nil
}

// A MarkerRow is a session with a compaction marker that is pending or applied.
type MarkerRow struct {
	Key              Key
	Pending, Applied string
}

// Of returns the sessions of a harness that have a marker. A starting host compares them with the harness's history.
func (s *Markers) Of(ctx context.Context, harness string) (rows []MarkerRow, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT session_id, pending_marker, applied_marker
			FROM histories
			WHERE harness = ? AND (pending_marker <> '' OR applied_marker <> '')
			ORDER BY session_id`,
			func(row *sqlite3.Stmt) {
				rows = append(rows, MarkerRow{Key: Key{harness, row.ColumnText(0)}, Pending: row.ColumnText(1), Applied: row.ColumnText(2)})
			}, harness)
	})
	if err != nil {
		return nil, fmt.Errorf("read markers of %s: %w", harness, err)
	}
	return rows, nil
}
