package store

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

// An EditRow is one frozen decision about a unit. A new edit of the same kind replaces the old one.
type EditRow struct {
	Tag     int
	Kind    string
	Pass    int    // the pass that first applied the edit
	Payload string // data that the kind needs besides the tag
}

func readEdits(c *sqlite3.Conn, key Key) ([]EditRow, error) {
	var edits []EditRow
	var kinds interner
	err := file.Scan(c, `
		SELECT tag, kind, pass, payload
		FROM edits
		WHERE harness = ? AND session_id = ?
		ORDER BY tag, kind`,
		func(row *sqlite3.Stmt) {
			edits = append(edits, EditRow{
				Tag:     row.ColumnInt(0),
				Kind:    kinds.intern(row.ColumnRawText(1)),
				Pass:    row.ColumnInt(2),
				Payload: row.ColumnText(3),
			})
		}, key.Harness, key.Session)
	return edits, err
}
