package opencodedb

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

type Session struct {
	ID, Directory string
	// Stamp changes if the session changes.
	Stamp    string
	Messages int
}

var (
	//go:embed query/sessions.sql
	sessionsSQL string
	//go:embed query/two_sessions.sql
	sessionsOfTwoSQL string
)

// Sessions returns the sessions of both versions, most recently used first. If version 2 continues a session of version
// 1, the session is in `two`, and not in `one`.
func (db *DB) Sessions() (one, two []Session, err error) {
	if db.has(2) {
		query := sessionsOfTwoSQL
		isRelease, err := db.IsRelease()
		if err != nil {
			return nil, nil, err
		}
		if !isRelease {
			query = strings.Replace(query, "JOIN session_v2 ", "JOIN session ", 1)
		}
		if two, err = db.sessions(query); err != nil {
			return nil, nil, err
		}
	}
	if db.has(1) {
		if one, err = db.sessions(sessionsSQL); err != nil {
			return nil, nil, err
		}
		isOfTwo := map[string]bool{}
		for _, s := range two {
			isOfTwo[s.ID] = true
		}
		one = slices.DeleteFunc(one, func(s Session) bool { return isOfTwo[s.ID] })
	}
	return one, two, nil
}

func (db *DB) sessions(query string) (all []Session, err error) {
	err = file.Scan(db.conn, query, func(s *sqlite3.Stmt) {
		all = append(all, Session{ID: s.ColumnText(0), Directory: s.ColumnText(1), Stamp: s.ColumnText(2), Messages: s.ColumnInt(3)})
	})
	return all, err
}
