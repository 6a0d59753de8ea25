package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A ThinkingRow names the prompt to which the thinking of a message is bound.
type ThinkingRow struct {
	MessageKey string
	Prompt     string
	// LostPass is the pass that changed the prompt, or 0.
	LostPass int
}

// A row of a message never changes.
const thinkingInsertSQL = `
	INSERT INTO thinking (harness, session_id, message_key, prompt)
	VALUES (?, ?, ?, ?)
	ON CONFLICT (harness, session_id, message_key) DO NOTHING`

const thinkingLostSQL = `
	UPDATE thinking
	SET lost_pass = ?4
	WHERE harness = ?1 AND session_id = ?2 AND message_key = ?3 AND lost_pass = 0`

// SaveThinking records the binding of one message's thinking.
func (s *Store) SaveThinking(ctx context.Context, key Key, row ThinkingRow) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		return s.insertThinking(tx, key, []ThinkingRow{row})
	})
	if err != nil {
		return fmt.Errorf("save thinking of %s: %w", key, err)
	}
	return nil
}

func (s *Store) insertThinking(tx *database.Tx, key Key, rows []ThinkingRow) error {
	for _, r := range rows {
		if _, err := tx.Exec(thinkingInsertSQL, key.Harness, key.Session, r.MessageKey, r.Prompt); err != nil {
			return fmt.Errorf("thinking of message %s: %w", r.MessageKey, err)
		}
	}
	return nil
}

func loseThinking(tx *database.Tx, key Key, messageKeys []string, pass int) error {
	for _, m := range messageKeys {
		if _, err := tx.Exec(thinkingLostSQL, key.Harness, key.Session, m, pass); err != nil {
			return fmt.Errorf("lost thinking of message %s: %w", m, err)
		}
	}
	return nil
}

func readThinking(c *sqlite3.Conn, key Key) (rows []ThinkingRow, err error) {
	err = file.Scan(c, `
		SELECT message_key, prompt, lost_pass
		FROM thinking
		WHERE harness = ? AND session_id = ?
		ORDER BY message_key`,
		func(row *sqlite3.Stmt) {
			rows = append(rows, ThinkingRow{MessageKey: row.ColumnText(0), Prompt: row.ColumnText(1), LostPass: row.ColumnInt(2)})
		}, key.Harness, key.Session)
	return rows, err
}
