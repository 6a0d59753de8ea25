package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A RecallRow is a line that told a session's model about an earlier message.
type RecallRow struct {
	// Tag is the unit at whose end the line was added. Pass is the pass that added the line.
	Tag, Pass int
	// SourceSession and Ordinal name the earlier message.
	SourceSession string
	Ordinal       int
	// Fact is a hash of the line's content, so that the same content is shown only once.
	Fact int64
	// Names is a JSON array of the files and commands that the line names. It leaves out the files and commands that
	// were the reason for the line.
	Names  string
	Tokens int
	// ActedPass is the pass in which the model followed the line, or 0 if it did not.
	ActedPass int
}

// Recalls returns the lines of a session, oldest first.
func (s *Store) Recalls(ctx context.Context, key Key) (all []RecallRow, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT tag, pass, source_session, ordinal, fact, names, tokens, acted_pass
			FROM recalls
			WHERE harness = ? AND session_id = ?
			ORDER BY pass, tag`,
			func(row *sqlite3.Stmt) {
				all = append(all, RecallRow{
					Tag: row.ColumnInt(0), Pass: row.ColumnInt(1), SourceSession: row.ColumnText(2), Ordinal: row.ColumnInt(3),
					Fact: row.ColumnInt64(4), Names: row.ColumnText(5), Tokens: row.ColumnInt(6), ActedPass: row.ColumnInt(7),
				})
			},
			key.Harness, key.Session)
	})
	if err != nil {
		return nil, fmt.Errorf("read recalls of %s: %w", key, err)
	}
	return all, nil
}

// upsertRecalls changes only ActedPass of a stored line.
func upsertRecalls(tx *database.Tx, key Key, rows []RecallRow) error {
	for _, r := range rows {
		_, err := tx.Exec(`
			INSERT INTO recalls (harness, session_id, tag, pass, source_session, ordinal, fact, names, tokens, acted_pass)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET acted_pass = excluded.acted_pass`,
			key.Harness, key.Session, r.Tag, r.Pass, r.SourceSession, r.Ordinal, r.Fact, r.Names, r.Tokens, r.ActedPass)
		if err != nil {
			return fmt.Errorf("recall at unit %d: %w", r.Tag, err)
		}
	}
	return nil
}

// If there are no lines, readRecalled returns nil.
func readRecalled(c *sqlite3.Conn, key Key) (r *schema.Recalled, err error) {
	err = file.Scan(c, `
		SELECT count(*), count(nullif(acted_pass, 0)), coalesce(sum(tokens), 0)
		FROM recalls
		WHERE harness = ? AND session_id = ?`,
		func(row *sqlite3.Stmt) {
			if row.ColumnInt(0) > 0 {
				r = &schema.Recalled{Lines: row.ColumnInt(0), Acted: row.ColumnInt(1), Tokens: row.ColumnInt(2)}
			}
		}, key.Harness, key.Session)
	return r, err
}
