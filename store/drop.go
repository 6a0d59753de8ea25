package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// A DropRow is a drop that waits for the next bust.
type DropRow struct {
	Tag      int
	QueuedAt int64 // Unix ms
	Source   string
}

// A ToolReplyRow is what one tool call was answered.
type ToolReplyRow struct {
	CallID string
	Reply  string
	At     int64 // Unix ms
}

// QueueDrops queues drops and remembers the reply of the tool call that asked
// for them, both or neither. A call that was answered before changes nothing:
// the harness repeats it after a crash, perhaps when its drops have long been
// drained. A tag that is queued already keeps its place. An empty CallID
// remembers no reply.
func (s *Store) QueueDrops(ctx context.Context, key Key, drops []DropRow, reply ToolReplyRow) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		if err := s.ensureSession(ctx, tx, key); err != nil {
			return err
		}
		if reply.CallID != "" {
			isNew, err := insertToolReply(ctx, tx, key, reply)
			if err != nil || !isNew {
				return err
			}
		}
		return insertDrops(ctx, tx, key, drops)
	})
	if err != nil {
		return fmt.Errorf("queue drops of %s: %w", key, err)
	}
	return nil
}

func insertToolReply(ctx context.Context, tx *sql.Tx, key Key, reply ToolReplyRow) (isNew bool, err error) {
	result, err := tx.ExecContext(ctx, `
		INSERT INTO tool_replies (harness, session_id, call_id, reply, at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (harness, session_id, call_id) DO NOTHING`,
		key.Harness, key.Session, reply.CallID, reply.Reply, reply.At)
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed == 1, err
}

func insertDrops(ctx context.Context, tx *sql.Tx, key Key, drops []DropRow) error {
	stmt, err := tx.PrepareContext(ctx, `
		INSERT INTO queued_drops (harness, session_id, tag, queued_at, source)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (harness, session_id, tag) DO NOTHING`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, d := range drops {
		if _, err := stmt.ExecContext(ctx, key.Harness, key.Session, d.Tag, d.QueuedAt, d.Source); err != nil {
			return fmt.Errorf("tag %d: %w", d.Tag, err)
		}
	}
	return nil
}

// ToolReply returns what a tool call was answered, if it was.
func (s *Store) ToolReply(ctx context.Context, key Key, callID string) (reply string, found bool, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		return scan(c, `
			SELECT reply
			FROM tool_replies
			WHERE harness = ? AND session_id = ? AND call_id = ?`,
			func(row *sqlite3.Stmt) { reply, found = row.ColumnText(0), true },
			key.Harness, key.Session, callID)
	})
	if err != nil {
		return "", false, fmt.Errorf("read tool reply of %s: %w", key, err)
	}
	return reply, found, nil
}

// readDrops returns the queued drops in the order of their queueing.
func readDrops(c *sqlite3.Conn, key Key) ([]DropRow, error) {
	var drops []DropRow
	err := scan(c, `
		SELECT tag, queued_at, source
		FROM queued_drops
		WHERE harness = ? AND session_id = ?
		ORDER BY queued_at, tag`,
		func(row *sqlite3.Stmt) {
			drops = append(drops, DropRow{Tag: row.ColumnInt(0), QueuedAt: row.ColumnInt64(1), Source: row.ColumnText(2)})
		}, key.Harness, key.Session)
	return drops, err
}
