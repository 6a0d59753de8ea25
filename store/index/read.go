package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

//go:embed query/candidates.sql
var candidatesSQL string

// A View is the index as it is at one moment.
type View struct{ x *Index }

// View calls read with the index as it is at one moment.
func (x *Index) View(ctx context.Context, read func(*View) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := func() (err error) {
		if x.conn == nil {
			return errors.New("the index is closed")
		}
		defer x.conn.SetInterrupt(x.conn.SetInterrupt(ctx))
		defer x.conn.Begin().End(&err)
		return read(&View{x})
	}()
	if err != nil {
		return fmt.Errorf("read the index %s: %w", x.path, file.Classify(ctx, err))
	}
	return nil
}

// Size returns the number of chunks, including those that were replaced.
func (v *View) Size() (n int, err error) {
	err = v.x.scan(`SELECT coalesce(max(id), 0) FROM chunks`, func(s *sqlite3.Stmt) { n = s.ColumnInt(0) })
	return n, err
}

// Frequency returns how many chunks have a term.
func (v *View) Frequency(term string) (n int, err error) {
	err = v.x.scan(`SELECT doc FROM vocabulary WHERE term = ?`, func(s *sqlite3.Stmt) { n = s.ColumnInt(0) }, term)
	return n, err
}

// Project returns the row of a project, or 0 if nothing of it was indexed.
func (v *View) Project(identity string) (row int64, err error) {
	err = v.x.scan(`SELECT id FROM projects WHERE identity = ?`, func(s *sqlite3.Stmt) { row = s.ColumnInt64(0) }, identity)
	return row, err
}

// Row returns the row of a session, or 0 if nothing of it was indexed.
func (v *View) Row(harness, session string) (row int64, err error) {
	err = v.x.scan(`SELECT id FROM sessions WHERE harness = ? AND session = ?`, func(s *sqlite3.Stmt) { row = s.ColumnInt64(0) }, harness, session)
	return row, err
}

// Find calls yield with the chunks that match an expression of terms, the newest rows first, and at most limit. Of
// the session with a row, it leaves out the messages after ordinal through; row 0 leaves out nothing.
func (v *View) Find(expression string, row int64, through, limit int, yield func(Hit)) error {
	return v.x.scan(candidatesSQL, func(s *sqlite3.Stmt) { yield(readHit(s)) }, expression, row, through, limit)
}

// Row identifies the chunk of a hit.
func (h *Hit) Row() int64 { return h.row }

// Counts returns how many sessions and chunks the index has.
func (v *View) Counts() (sessions, chunks int, err error) {
	err = v.x.scan(`SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM chunks)`, func(s *sqlite3.Stmt) { sessions, chunks = s.ColumnInt(0), s.ColumnInt(1) })
	return sessions, chunks, err
}
