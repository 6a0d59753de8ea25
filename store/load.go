package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// A Snapshot is the frozen state of a session, all of one moment.
type Snapshot struct {
	Session SessionRow
	Units   []UnitRow // by tag
	Edits   []EditRow // by tag, then kind
	Queued  []DropRow // in the order of their queueing
}

// maxExpectedUnits bounds what Load sets aside on the word of a tag counter.
const maxExpectedUnits = 1 << 16

// Load reads a session; found is false when it is unknown.
func (s *Store) Load(ctx context.Context, key Key) (snap Snapshot, found bool, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) (err error) {
		err = scan(c, sessionSelectSQL+`WHERE harness = ? AND session_id = ?`,
			func(row *sqlite3.Stmt) { snap.Session, found = readSession(row), true },
			key.Harness, key.Session)
		if err != nil || !found {
			return err
		}
		if snap.Units, err = readUnits(c, key, min(snap.Session.TagCounter, maxExpectedUnits)); err != nil {
			return err
		}
		if snap.Edits, err = readEdits(c, key); err != nil {
			return err
		}
		snap.Queued, err = readDrops(c, key)
		return err
	})
	if err != nil {
		return Snapshot{}, false, fmt.Errorf("load session %s: %w", key, err)
	}
	return snap, found, nil
}
