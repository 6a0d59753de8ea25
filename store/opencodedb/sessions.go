package opencodedb

import (
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

// A Session is a session of the database.
type Session struct {
	ID, Directory string
	Messages      int
	// Stamp changes if the session changes.
	Stamp string
}

//go:embed query/sessions.sql
var sessionsSQL string

// Sessions returns the sessions of the database, those that were used last first.
func (db *DB) Sessions() (all []Session, err error) {
	err = file.Scan(db.conn, sessionsSQL, func(s *sqlite3.Stmt) {
		all = append(all, Session{
			ID: s.ColumnText(0), Directory: s.ColumnText(1), Messages: s.ColumnInt(3),
			Stamp: fmt.Sprintf("%d %d %s", s.ColumnInt64(2), s.ColumnInt(3), s.ColumnText(4)),
		})
	})
	return all, err
}
