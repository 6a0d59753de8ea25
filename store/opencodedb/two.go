package opencodedb

import (
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

type RowOfTwo struct {
	ID string
	// Type is the kind of the message, for example "user".
	Type string
	// IsOfOne means that version 1 had already stored the message before version 2 continued the session. Version 2 has
	// its own copy with the same id. The copy lacks content that version 2 cannot show, for example pruned output.
	IsOfOne bool
}

// IsRelease reports whether the database was made by a release of OpenCode 2. The betas had different tables and
// different fixed texts.
func (db *DB) IsRelease() (isRelease bool, err error) {
	err = file.Scan(db.conn, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'session_v2'`, func(*sqlite3.Stmt) { isRelease = true })
	return isRelease, err
}

// HasSessionOfTwo reports whether the database holds messages of a session of version 2.
func (db *DB) HasSessionOfTwo(session string) (found bool, err error) {
	if !db.has(2) {
		if isRelease, err := db.IsRelease(); err != nil || !isRelease {
			return false, err
		}
		return false, db.foreign(2)
	}
	err = file.Scan(db.conn, `SELECT 1 FROM session_message WHERE session_id = ? LIMIT 1`, func(*sqlite3.Stmt) { found = true }, session)
	return found, err
}

var (
	//go:embed query/two_messages.sql
	messagesOfTwoSQL string
	//go:embed query/two_first.sql
	ofOneSQL string
)

// MessagesOfTwo returns the messages of a session of version 2 in OpenCode's order. It returns only the messages that
// OpenCode would put into the array.
func (db *DB) MessagesOfTwo(session string) (rows []RowOfTwo, err error) {
	err = file.Scan(db.conn, messagesOfTwoSQL, func(s *sqlite3.Stmt) {
		rows = append(rows, RowOfTwo{ID: s.ColumnText(0), Type: s.ColumnText(1)})
	}, session)
	if err != nil || !db.has(1) {
		return rows, err
	}
	for i := range rows {
		row := &rows[i]
		if err := file.Scan(db.conn, ofOneSQL, func(*sqlite3.Stmt) { row.IsOfOne = true }, session, row.ID); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// RawOfTwo returns the stored data of a message of version 2, which does not include its id and its kind. If the data
// is not a JSON object, RawOfTwo returns nil.
func (db *DB) RawOfTwo(id string) (data json.Value, err error) {
	var size int64
	const ofRow = ` FROM session_message WHERE id = ?`
	if err := file.Scan(db.conn, `SELECT octet_length(data)`+ofRow, func(s *sqlite3.Stmt) { size = s.ColumnInt64(0) }, id); err != nil {
		return nil, err
	}
	if size > maxMessage {
		return nil, fmt.Errorf("%s: %w", id, ErrTooLarge)
	}
	err = file.Scan(db.conn, `SELECT data`+ofRow+` AND json_valid(data) AND json_type(data) = 'object'`, func(s *sqlite3.Stmt) {
		data = json.Value(s.ColumnText(0))
	}, id)
	return data, err
}
