package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A UnitRow is one tagged unit of a session. Its sizes never change.
type UnitRow struct {
	Tag        int
	UnitKey    string // the harness's identity of the part; the store does not interpret it
	MessageKey string // key of the message that owns the unit
	Kind       string // "text", "file" or "tool"
	Tool       string // name of the tool, "" for other kinds
	Bytes      int    // of the content; for a tool, of its result
	Tokens     int
	// InputBytes and InputTokens are the size of the tool call's arguments.
	InputBytes  int
	InputTokens int
	// GapSeconds is the length of the pause that a mark in front of the unit's message shows. It is 0 if there is no
	// mark.
	GapSeconds int
	// Note is the host's text at the end of the content, or "".
	Note string
	// A unit and its copy in a fork have the same Fingerprint. 0 means unknown.
	Fingerprint int64
	// If the user typed a command, the harness replaced the typed line with the command's template. Typed is then
	// this line, for example "/review main". Otherwise, it is "".
	Typed string
	// Kept is when the user asked to keep the content, in Unix ms, or 0.
	Kept int64
}

func readUnits(c *sqlite3.Conn, key Key, expected int) ([]UnitRow, error) {
	units := make([]UnitRow, 0, expected)
	var message, kind, tool interner
	err := file.Scan(c, `
		SELECT tag, unit_key, message_key, kind, tool, bytes, tokens, input_bytes, input_tokens, gap_seconds, note, fingerprint, typed, kept
		FROM units
		WHERE harness = ? AND session_id = ?
		ORDER BY tag`,
		func(row *sqlite3.Stmt) {
			units = append(units, UnitRow{
				Tag:         row.ColumnInt(0),
				UnitKey:     row.ColumnText(1),
				MessageKey:  message.intern(row.ColumnRawText(2)),
				Kind:        kind.intern(row.ColumnRawText(3)),
				Tool:        tool.intern(row.ColumnRawText(4)),
				Bytes:       row.ColumnInt(5),
				Tokens:      row.ColumnInt(6),
				InputBytes:  row.ColumnInt(7),
				InputTokens: row.ColumnInt(8),
				GapSeconds:  row.ColumnInt(9),
				Note:        row.ColumnText(10),
				Fingerprint: row.ColumnInt64(11),
				Typed:       row.ColumnText(12),
				Kept:        row.ColumnInt64(13),
			})
		}, key.Harness, key.Session)
	return units, err
}

//go:embed query/typed_select.sql
var typedSelectSQL string

// Typed returns the command lines that the user typed and that the harness replaced with templates, by message key.
func (s *Store) Typed(ctx context.Context, key Key) (lines map[string]string, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		lines, err = (&Browser{c}).Typed(key)
		return err
	})
	return lines, err
}

// Typed does the same as Store.Typed.
func (b *Browser) Typed(key Key) (map[string]string, error) {
	lines := make(map[string]string)
	err := file.Scan(b.conn, typedSelectSQL, func(row *sqlite3.Stmt) { lines[row.ColumnText(0)] = row.ColumnText(1) }, key.Harness, key.Session)
	if err != nil {
		return nil, fmt.Errorf("read the typed lines of %s: %w", key, err)
	}
	return lines, nil
}

// An interner lets equal column values of different rows share memory. A few recent values are enough, because
// message keys repeat in runs, and kinds and tools are few.
type interner struct {
	recent [8]string
	next   int
}

func (in *interner) intern(raw []byte) string {
	for _, known := range in.recent {
		if known == string(raw) {
			return known
		}
	}
	s := string(raw)
	in.recent[in.next%len(in.recent)] = s
	in.next++
	return s
}

// RemoveMessages deletes the units of deleted messages, with their edits and queued drops. Their tags are never given
// again.
func (s *Store) RemoveMessages(ctx context.Context, key Key, messageKeys []string) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		for _, table := range []string{"edits", "queued_drops"} {
			err := forEach(tx, `
				DELETE FROM `+table+`
				WHERE harness = ?1 AND session_id = ?2 AND tag IN (
					SELECT tag FROM units
					WHERE harness = ?1 AND session_id = ?2 AND message_key = ?3
				)`, key, messageKeys)
			if err != nil {
				return err
			}
		}
		err := forEach(tx, `
			DELETE FROM thinking
			WHERE harness = ?1 AND session_id = ?2 AND message_key = ?3`, key, messageKeys)
		if err != nil {
			return err
		}
		return forEach(tx, `
			DELETE FROM units
			WHERE harness = ?1 AND session_id = ?2 AND message_key = ?3`, key, messageKeys)
	})
	if err != nil {
		return fmt.Errorf("remove messages of %s: %w", key, err)
	}
	return nil
}

func forEach(tx *database.Tx, query string, key Key, messageKeys []string) error {
	for _, messageKey := range messageKeys {
		if _, err := tx.Exec(query, key.Harness, key.Session, messageKey); err != nil {
			return err
		}
	}
	return nil
}
