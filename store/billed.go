package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A BilledPass has the figures that are needed to compute what a pass cost.
type BilledPass struct {
	Pass      int
	Cause     string
	Bust      bool
	BustCause string
	// Resent and Removed are the cost and the gain of the bust: how many tokens it sent again, and how many it removed.
	Resent, Removed int
	// Usage is zero if the provider has not reported any.
	Usage Usage
}

// A SessionTotal has the figures of one session that a report over all sessions needs.
type SessionTotal struct {
	Key             Key
	Directory       string
	Provider, Model string
	LimitTokens     int // see SessionRow
	Passes          int
}

//go:embed query/billed_passes.sql
var billedPassesSQL string

// BilledPasses returns the passes of a session whose numbers are greater than `after` and less than `before`, oldest
// first.
func (s *Reports) BilledPasses(ctx context.Context, key Key, after, before int) ([]BilledPass, error) {
	var passes []BilledPass
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, billedPassesSQL, func(row *sqlite3.Stmt) {
			passes = append(passes, BilledPass{
				Pass: row.ColumnInt(0), Cause: row.ColumnText(1), Bust: row.ColumnBool(2), BustCause: row.ColumnText(3),
				Resent: row.ColumnInt(4), Removed: row.ColumnInt(5),
				Usage: Usage{Input: row.ColumnInt(6), CacheRead: row.ColumnInt(7), CacheWrite: row.ColumnInt(8)},
			})
		}, key.Harness, key.Session, after, before)
	})
	if err != nil {
		return nil, fmt.Errorf("read bill of %s: %w", key, err)
	}
	return passes, nil
}

// Totals returns the figures of all sessions that have a pass.
func (s *Reports) Totals(ctx context.Context) ([]SessionTotal, error) {
	var all []SessionTotal
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT harness, session_id, directory, provider, model, limit_tokens, passes FROM sessions WHERE passes > 0`, func(row *sqlite3.Stmt) {
			all = append(all, SessionTotal{Key{row.ColumnText(0), row.ColumnText(1)}, row.ColumnText(2), row.ColumnText(3), row.ColumnText(4), row.ColumnInt(5), row.ColumnInt(6)})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return all, nil
}

// A DroppedRow is a unit that an edit has removed from the wire.
type DroppedRow struct {
	UnitRow
	Edit EditRow
	// At and Cause are the time and the cause of the pass that made the edit. If the journal no longer has that pass,
	// At is 0.
	At    int64
	Cause string
}

//go:embed query/dropped_units.sql
var droppedUnitsSQL string

// DroppedUnits returns the dropped units of a session, newest decision first.
func (s *Reports) DroppedUnits(ctx context.Context, key Key) ([]DroppedRow, error) {
	var all []DroppedRow
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, droppedUnitsSQL, func(row *sqlite3.Stmt) {
			all = append(all, DroppedRow{
				UnitRow: UnitRow{
					Tag: row.ColumnInt(0), Kind: row.ColumnText(1), Tool: row.ColumnText(2), Tokens: row.ColumnInt(3), InputTokens: row.ColumnInt(4),
					UnitKey: row.ColumnText(5), MessageKey: row.ColumnText(6),
				},
				Edit: EditRow{Tag: row.ColumnInt(0), Kind: row.ColumnText(7), Pass: row.ColumnInt(8), Payload: row.ColumnText(9)},
				At:   row.ColumnInt64(10), Cause: row.ColumnText(11),
			})
		}, key.Harness, key.Session)
	})
	if err != nil {
		return nil, fmt.Errorf("read dropped units of %s: %w", key, err)
	}
	return all, nil
}

// SaveTitle stores the title of a session. isKnown is false if the store does not have the session.
func (s *Store) SaveTitle(ctx context.Context, key Key, title string) (isKnown bool, err error) {
	err = s.Update(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(`UPDATE sessions SET title = ?3 WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, title)
		isKnown = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("save title of %s: %w", key, err)
	}
	return isKnown, nil
}
