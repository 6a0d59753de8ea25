package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// A PassCommit is all that one pass adds to a session.
type PassCommit struct {
	// Session is the row after the pass; of it, the fields that CommitPass writes.
	Session SessionRow
	Units   []UnitRow // new ones
	Edits   []EditRow
	Drained []int // tags of queued drops that the pass has settled
	// FlushDone clears the explicit flush that the pass has carried out.
	FlushDone bool
	// RoomMade clears the overflow that the pass has made room for.
	RoomMade bool
	Pass     PassRow // its Usage is ignored, see SaveUsage
}

//go:embed query/session_upsert.sql
var sessionUpsertSQL string

const unitInsertSQL = `
	INSERT INTO units (harness, session_id, tag, unit_key, message_key, kind, tool, bytes, tokens, input_bytes, input_tokens, gap_seconds)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const editUpsertSQL = `
	INSERT INTO edits (harness, session_id, tag, kind, pass, payload)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (harness, session_id, tag, kind) DO UPDATE SET
		pass    = excluded.pass,
		payload = excluded.payload`

const dropDeleteSQL = `
	DELETE FROM queued_drops
	WHERE harness = ? AND session_id = ? AND tag = ?`

// passStatements are prepared once, because a pass is what the user waits for.
type passStatements struct {
	sessionUpsert, unitInsert, editUpsert, dropDelete, passInsert, passTrim *sql.Stmt
}

func preparePass(ctx context.Context, db *sql.DB) (stmts passStatements, err error) {
	for _, p := range []struct {
		stmt **sql.Stmt
		sql  string
	}{
		{&stmts.sessionUpsert, sessionUpsertSQL},
		{&stmts.unitInsert, unitInsertSQL},
		{&stmts.editUpsert, editUpsertSQL},
		{&stmts.dropDelete, dropDeleteSQL},
		{&stmts.passInsert, passInsertSQL},
		{&stmts.passTrim, passTrimSQL},
	} {
		if *p.stmt, err = db.PrepareContext(ctx, p.sql); err != nil {
			return stmts, err
		}
	}
	return stmts, nil
}

// CommitPass stores what a pass decided, all of it or nothing. A tag or a unit
// key that the session has already, and a pass number that its journal has, are
// errors.
func (s *Store) CommitPass(ctx context.Context, p PassCommit) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		if err := s.upsertSession(ctx, tx, p.Session, p.FlushDone, p.RoomMade); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		key := p.Session.Key
		if err := s.insertUnits(ctx, tx, key, p.Units); err != nil {
			return err
		}
		if err := s.upsertEdits(ctx, tx, key, p.Edits); err != nil {
			return err
		}
		if err := s.deleteDrops(ctx, tx, key, p.Drained); err != nil {
			return err
		}
		return s.appendJournal(ctx, tx, key, p.Pass)
	})
	if err != nil {
		return fmt.Errorf("commit pass %d of %s: %w", p.Pass.Pass, p.Session.Key, err)
	}
	return nil
}

func (s *Store) upsertSession(ctx context.Context, tx *sql.Tx, r SessionRow, flushDone, roomMade bool) error {
	_, err := tx.StmtContext(ctx, s.stmts.sessionUpsert).ExecContext(ctx,
		r.Key.Harness, r.Key.Session, r.Directory, r.Parent, r.Mode, r.Provider, r.Model,
		r.Epoch, r.TagCounter, r.Passes, r.Busts, r.WireMessages, r.WireChain,
		r.RawMessages, r.RawChain, r.LastPassAt, s.clock.Now(), flushDone,
		r.Setup.Profile, r.Setup.ShowGaps, r.Setup.TodoMessage, r.Setup.TodoState, r.Setup.ReclaimUpTo,
		r.Episode.ReliefOf, r.Episode.Relief, r.Episode.StuckTag, r.Episode.StuckGrace, r.Episode.StuckBand,
		roomMade)
	return err
}

func (s *Store) insertUnits(ctx context.Context, tx *sql.Tx, key Key, units []UnitRow) error {
	if len(units) == 0 {
		return nil
	}
	stmt := tx.StmtContext(ctx, s.stmts.unitInsert)
	for _, u := range units {
		_, err := stmt.ExecContext(ctx, key.Harness, key.Session, u.Tag, u.UnitKey, u.MessageKey,
			u.Kind, u.Tool, u.Bytes, u.Tokens, u.InputBytes, u.InputTokens, u.GapSeconds)
		if err != nil {
			return fmt.Errorf("unit %d: %w", u.Tag, err)
		}
	}
	return nil
}

func (s *Store) upsertEdits(ctx context.Context, tx *sql.Tx, key Key, edits []EditRow) error {
	if len(edits) == 0 {
		return nil
	}
	stmt := tx.StmtContext(ctx, s.stmts.editUpsert)
	for _, e := range edits {
		if _, err := stmt.ExecContext(ctx, key.Harness, key.Session, e.Tag, e.Kind, e.Pass, e.Payload); err != nil {
			return fmt.Errorf("edit %s of unit %d: %w", e.Kind, e.Tag, err)
		}
	}
	return nil
}

func (s *Store) deleteDrops(ctx context.Context, tx *sql.Tx, key Key, tags []int) error {
	if len(tags) == 0 {
		return nil
	}
	stmt := tx.StmtContext(ctx, s.stmts.dropDelete)
	for _, tag := range tags {
		if _, err := stmt.ExecContext(ctx, key.Harness, key.Session, tag); err != nil {
			return fmt.Errorf("queued drop %d: %w", tag, err)
		}
	}
	return nil
}
