package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

// A Snapshot is the frozen state of a session at one moment.
type Snapshot struct {
	Session SessionRow
	Units   []UnitRow // in order of their tags
	Edits   []EditRow // in order of their tags, then kinds
	Queued  []DropRow // in the order in which they were queued
	// Thinking is in the order of the message keys.
	Thinking []ThinkingRow
	// Head is nil if the session has no head.
	Head *HeadRow
	// Waiting has the units that could not be stored yet, in the order of their tags. They are not in Units.
	Waiting []UnitRow
}

// maxExpectedUnits bounds the memory that Load allocates in advance. Load estimates the number of units from the tag
// counter, which may be far too high.
const maxExpectedUnits = 1 << 16

// Load reads a session. If the session is not stored, `found` is false.
func (s *Store) Load(ctx context.Context, key Key) (snap Snapshot, found bool, err error) {
	hasNonsense := false
	err = s.View(ctx, func(c *sqlite3.Conn) (err error) {
		if snap, found, err = readSnapshot(c, key); err != nil || !found {
			return err
		}
		if err = healCounters(c, &snap); err != nil {
			return err
		}
		hasNonsense, err = hasNonsenseSums(c, key)
		return err
	})
	if err != nil {
		return Snapshot{}, false, fmt.Errorf("load session %s: %w", key, err)
	}
	if hasNonsense {
		if err := s.healSums(ctx, key); err != nil {
			s.Log.Error("sums of units that make no sense stay", "session", key.Session, "error", err)
		}
	}
	if snap.Waiting, err = s.Waiting.of(key, snap.Units); err != nil {
		// The session can be loaded without these units. But since they are unknown now, their tags may be given to
		// other units.
		s.Log.Error("units that waited for the database are lost", "session", key.Session, "error", err)
	}
	return snap, found, nil
}

func readSnapshot(c *sqlite3.Conn, key Key) (snap Snapshot, found bool, err error) {
	err = file.Scan(c, sessionSelectSQL+`WHERE harness = ? AND session_id = ?`,
		func(row *sqlite3.Stmt) { snap.Session, found = readSession(row), true },
		key.Harness, key.Session)
	if err == nil && found {
		snap.Units, err = readUnits(c, key, min(snap.Session.TagCounter, maxExpectedUnits))
	}
	if err == nil && found {
		var errs [4]error
		snap.Edits, errs[0] = readEdits(c, key)
		snap.Queued, errs[1] = readDrops(c, key)
		snap.Thinking, errs[2] = readThinking(c, key)
		snap.Head, errs[3] = readHead(c, key)
		err = errors.Join(errs[:]...)
	}
	return snap, found, err
}
