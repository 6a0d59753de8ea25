package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
)

type DropRow struct {
	Tag int
	// UnitKey is the key of the unit that the drop is for. If the tag now belongs to another unit, the drop is
	// deleted.
	UnitKey  string
	QueuedAt int64 // Unix ms
}

type ToolReplyRow struct {
	CallID string
	Reply  string
	At     int64 // Unix ms
}

// QueueDrops stores drops, and the reply of the tool call that asked for them, in one transaction. After a crash, the
// harness may repeat a call whose reply is already stored. QueueDrops then queues nothing, because a pass may already
// have carried out the drops. A tag that is already queued keeps its place. If CallID is empty, no reply is stored.
//
// `units` are all units that no pass could store yet, and QueueDrops stores them, too. Otherwise, a crash could lose a
// unit and keep its drop, which would then wait for ever.
func (s *Store) QueueDrops(ctx context.Context, key Key, units []UnitRow, drops []DropRow, reply ToolReplyRow) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		if err := s.ensureSession(tx, key); err != nil {
			return err
		}
		if err := s.insertUnits(tx, key, units); err != nil {
			return err
		}
		if err := raiseTagCounter(tx, key, units); err != nil {
			return err
		}
		if reply.CallID != "" {
			isNew, err := insertToolReply(tx, key, reply)
			if err != nil || !isNew {
				return err
			}
		}
		return insertDrops(tx, key, drops)
	})
	if err != nil {
		return fmt.Errorf("queue drops of %s: %w", key, err)
	}
	if len(units) > 0 {
		s.Waiting.Forget(key)
	}
	return nil
}

// raiseTagCounter makes sure that the tags of units are never given again, even if the units are removed.
func raiseTagCounter(tx *database.Tx, key Key, units []UnitRow) error {
	if len(units) == 0 {
		return nil
	}
	highest := 0
	for _, u := range units {
		highest = max(highest, u.Tag)
	}
	_, err := tx.Exec(`
		UPDATE sessions
		SET tag_counter = max(tag_counter, ?3)
		WHERE harness = ?1 AND session_id = ?2`,
		key.Harness, key.Session, highest)
	return err
}

func insertToolReply(tx *database.Tx, key Key, reply ToolReplyRow) (isNew bool, err error) {
	changed, err := tx.Exec(`
		INSERT INTO tool_replies (harness, session_id, call_id, reply, at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (harness, session_id, call_id) DO NOTHING`,
		key.Harness, key.Session, reply.CallID, reply.Reply, reply.At)
	if err != nil {
		return false, err
	}
	return changed == 1, err
}

//go:embed query/drop_insert.sql
var dropInsertSQL string

func insertDrops(tx *database.Tx, key Key, drops []DropRow) error {
	for _, d := range drops {
		if _, err := tx.Exec(dropInsertSQL, key.Harness, key.Session, d.Tag, d.UnitKey, d.QueuedAt); err != nil {
			return fmt.Errorf("tag %d: %w", d.Tag, err)
		}
	}
	return nil
}

// ToolReply returns the stored reply of a tool call.
func (s *Store) ToolReply(ctx context.Context, key Key, callID string) (reply string, found bool, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, toolReplySQL,
			func(row *sqlite3.Stmt) { reply, found = row.ColumnText(0), true },
			key.Harness, key.Session, callID)
	})
	if err != nil {
		return "", false, fmt.Errorf("read tool reply of %s: %w", key, err)
	}
	return reply, found, nil
}

// Answer runs `act`, which changes memories or notes for a tool call of the model, and stores the changes and the reply
// in one transaction. After a crash, the harness may repeat a call whose reply is already stored. Answer then changes
// nothing, and returns the stored reply.
func (s *Store) Answer(ctx context.Context, key Key, callID string, act func(*memories.Editor) (string, error)) (reply string, err error) {
	err = s.Update(ctx, func(tx *database.Tx) error {
		if err := s.ensureSession(tx, key); err != nil {
			return err
		}
		isKnown := false
		err := tx.Scan(toolReplySQL, func(row *sqlite3.Stmt) { reply, isKnown = row.ColumnText(0), true }, key.Harness, key.Session, callID)
		if err != nil || isKnown {
			return err
		}
		now := s.Clock.Now()
		if reply, err = act(memories.Editing(tx, now)); err != nil || callID == "" { // without an id, the reply could not be found again
			return err
		}
		_, err = insertToolReply(tx, key, ToolReplyRow{CallID: callID, Reply: reply, At: now})
		return err
	})
	return reply, err
}

const toolReplySQL = `SELECT reply FROM tool_replies WHERE harness = ? AND session_id = ? AND call_id = ?`

func readDrops(c *sqlite3.Conn, key Key) ([]DropRow, error) {
	var drops []DropRow
	err := file.Scan(c, `
		SELECT tag, unit_key, queued_at
		FROM queued_drops
		WHERE harness = ? AND session_id = ?
		ORDER BY queued_at, tag`,
		func(row *sqlite3.Stmt) {
			drops = append(drops, DropRow{Tag: row.ColumnInt(0), UnitKey: row.ColumnText(1), QueuedAt: row.ColumnInt64(2)})
		}, key.Harness, key.Session)
	return drops, err
}
