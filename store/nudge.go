package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A NudgeRow records how the host has reminded a session's model that it could drop output.
type NudgeRow struct {
	// Undropped and Level describe the last reminder. Undropped is the number of tokens that could have been dropped at
	// that time. Level is the level of the reminder, or "" if there was none.
	Undropped int
	Level     string
	// HasMessage means that the session has had its nudge message, which comes only once.
	HasMessage bool
}

// Nudge returns the record of a session.
func (s *Store) Nudge(ctx context.Context, key Key) (n NudgeRow, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT undropped, level, has_message
			FROM nudges
			WHERE harness = ? AND session_id = ?`,
			func(row *sqlite3.Stmt) { n = NudgeRow{row.ColumnInt(0), row.ColumnText(1), row.ColumnBool(2)} },
			key.Harness, key.Session)
	})
	if err != nil {
		return NudgeRow{}, fmt.Errorf("read nudges of %s: %w", key, err)
	}
	return n, nil
}

func upsertNudge(tx *database.Tx, key Key, n *NudgeRow) error {
	if n == nil {
		return nil
	}
	_, err := tx.Exec(`
		INSERT INTO nudges (harness, session_id, undropped, level, has_message)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (harness, session_id) DO UPDATE SET
			undropped   = excluded.undropped,
			level       = excluded.level,
			has_message = excluded.has_message`,
		key.Harness, key.Session, n.Undropped, n.Level, n.HasMessage)
	if err != nil {
		return fmt.Errorf("nudge: %w", err)
	}
	return nil
}
