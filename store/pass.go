package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// A PassCommit holds everything that one pass adds to a session.
type PassCommit struct {
	// Session is the session's row after the pass. CommitPass writes only the
	// fields that SessionRow marks as its own.
	Session SessionRow
	Units   []UnitRow // new units, and all units that waited
	Edits   []EditRow
	Drained []int // tags of queued drops that the pass has carried out or discarded
	// Stamped holds new fingerprints of units, by tag.
	Stamped map[int]int64
	// Inherited is the state that the session takes over beside units and
	// edits, if the session is a copy of another one. Otherwise it is nil.
	Inherited *Inheritance
	// Thinking holds new bindings of thinking to its prompt. LostThinking names
	// the messages whose thinking the pass has invalidated.
	Thinking     []ThinkingRow
	LostThinking []string
	// FlushDone clears the explicit flush, because the pass has carried it out.
	FlushDone bool
	// RoomMade clears the overflow: the pass has made room, or the refused prompt was
	// taken back.
	RoomMade bool
	Pass     PassRow // its Usage is ignored; SaveUsage stores it
}

//go:embed query/session_upsert.sql
var sessionUpsertSQL string

const unitInsertSQL = `
	INSERT INTO units (harness, session_id, tag, unit_key, message_key, kind, tool, bytes, tokens, input_bytes, input_tokens, gap_seconds, fingerprint)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const editUpsertSQL = `
	INSERT INTO edits (harness, session_id, tag, kind, pass, payload)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (harness, session_id, tag, kind) DO UPDATE SET
		pass    = excluded.pass,
		payload = excluded.payload`

const dropDeleteSQL = `
	DELETE FROM queued_drops
	WHERE harness = ? AND session_id = ? AND tag = ?`

// strayDeleteSQL deletes drops that were queued for another unit of the same
// tag. Few sessions have a queued drop, so the statement reads next to nothing.
const strayDeleteSQL = `
	DELETE FROM queued_drops
	WHERE harness = ?1 AND session_id = ?2 AND EXISTS (
		SELECT 1 FROM units AS u
		WHERE u.harness = ?1 AND u.session_id = ?2 AND u.tag = queued_drops.tag AND u.unit_key <> queued_drops.unit_key
	)`

// passStatements are prepared once, because the user waits for every pass.
type passStatements struct {
	sessionUpsert, unitInsert, strayDelete, editUpsert, dropDelete, thinkingInsert, passInsert, passTrim *sql.Stmt
}

func preparePass(ctx context.Context, db *sql.DB) (stmts passStatements, err error) {
	for _, p := range []struct {
		stmt **sql.Stmt
		sql  string
	}{
		{&stmts.sessionUpsert, sessionUpsertSQL},
		{&stmts.unitInsert, unitInsertSQL},
		{&stmts.strayDelete, strayDeleteSQL},
		{&stmts.editUpsert, editUpsertSQL},
		{&stmts.dropDelete, dropDeleteSQL},
		{&stmts.thinkingInsert, thinkingInsertSQL},
		{&stmts.passInsert, passInsertSQL},
		{&stmts.passTrim, passTrimSQL},
	} {
		if *p.stmt, err = db.PrepareContext(ctx, p.sql); err != nil {
			return stmts, err
		}
	}
	return stmts, nil
}

// CommitPass stores a pass in one transaction. It fails if the session already
// has one of the tags or unit keys, or if its journal already has the pass
// number.
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
		if err := stampUnits(ctx, tx, key, p.Stamped); err != nil {
			return err
		}
		if err := inherit(ctx, tx, key, p.Inherited, s.clock.Now()); err != nil {
			return err
		}
		if err := s.deleteDrops(ctx, tx, key, p.Drained); err != nil {
			return err
		}
		if err := s.insertThinking(ctx, tx, key, p.Thinking); err != nil {
			return err
		}
		if err := loseThinking(ctx, tx, key, p.LostThinking, p.Pass.Pass); err != nil {
			return err
		}
		return s.appendJournal(ctx, tx, key, p.Pass)
	})
	if err != nil {
		return fmt.Errorf("commit pass %d of %s: %w", p.Pass.Pass, p.Session.Key, err)
	}
	if _, waits := s.waits.Load(p.Session.Key); waits && len(p.Units) > 0 {
		s.forgetWaiting(p.Session.Key)
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
		roomMade, r.Setup.Binds, r.Setup.Preamble, r.Agent, r.LostBlocks, r.LostTokens,
		r.Gauge.Of, r.Gauge.Tokens, r.Gauge.Own, r.Gauge.Base)
	return err
}

func (s *Store) insertUnits(ctx context.Context, tx *sql.Tx, key Key, units []UnitRow) error {
	if len(units) == 0 {
		return nil
	}
	stmt := tx.StmtContext(ctx, s.stmts.unitInsert)
	for _, u := range units {
		_, err := stmt.ExecContext(ctx, key.Harness, key.Session, u.Tag, u.UnitKey, u.MessageKey,
			u.Kind, u.Tool, u.Bytes, u.Tokens, u.InputBytes, u.InputTokens, u.GapSeconds, u.Fingerprint)
		if err != nil {
			return fmt.Errorf("unit %d: %w", u.Tag, err)
		}
	}
	if _, err := tx.StmtContext(ctx, s.stmts.strayDelete).ExecContext(ctx, key.Harness, key.Session); err != nil {
		return fmt.Errorf("stray drops: %w", err)
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
