package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/pieces"
)

// A PassCommit holds everything that one pass adds to a session.
type PassCommit struct {
	// Session is the session's row after the pass. Only the fields that SessionRow lists for CommitPass are written.
	Session SessionRow
	Units   []UnitRow // new units, and all units that could not be stored before
	// Restored lists the tags of units that come back. CommitPass deletes their edits before it stores Edits. Released
	// lists the tags that the user no longer keeps.
	Restored, Released []int
	Edits              []EditRow
	Drained            []int // tags of queued drops that the pass has carried out or discarded
	// Stamped holds new fingerprints of units, by tag.
	Stamped map[int]int64
	// If the session is a fork that takes over the state of its original, Inherited holds this state, except the units
	// and edits, which are in Units and Edits. Otherwise, it is nil.
	Inherited *Inheritance
	// For each binding that has become known on this pass, Thinking records the prompt to which a message's thinking is
	// bound. LostThinking lists the messages whose thinking the pass has made invalid.
	Thinking     []ThinkingRow
	LostThinking []string
	// If Nudge is not nil, it replaces the record of reminders.
	Nudge *NudgeRow
	// Recalls are new or changed lines about earlier messages.
	Recalls []RecallRow
	// NotesTold are the ids of the ready notes about which the pass has told the model.
	NotesTold []int64
	// If Head is not nil, it replaces the session's head.
	Head *HeadRow
	// Removals are the tokens that the pass has removed. Rereads are removed units that the model has now read again.
	// A reread is ignored if its content was removed before the pass RereadSince.
	Removals    []RemovalRow
	Rereads     []RereadRow
	RereadSince int
	// FlushDone clears the explicit flush, because the pass has carried it out.
	FlushDone bool
	// RoomMade clears the overflow, because the pass has freed space, or the user has reverted the refused prompt.
	RoomMade bool
	// SystemSent clears the mark that a system prompt is pending, because the request of this pass contains the
	// prompt.
	SystemSent bool
	Pass       PassRow // its Usage is ignored, because SaveUsage stores it
}

//go:embed query/session_upsert.sql
var sessionUpsertSQL string

const unitInsertSQL = `
	INSERT INTO units (harness, session_id, tag, unit_key, message_key, kind, tool, bytes, tokens, input_bytes, input_tokens, gap_seconds, note, fingerprint, typed, kept)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

//go:embed query/edit_upsert.sql
var editUpsertSQL string

const dropDeleteSQL = `
	DELETE FROM queued_drops
	WHERE harness = ? AND session_id = ? AND tag = ?`

const (
	dropSelectSQL = `SELECT 1 FROM queued_drops WHERE harness = ? AND session_id = ?`
	systemSentSQL = `UPDATE sessions SET system_pending = 0 WHERE harness = ? AND session_id = ?`
)

//go:embed query/drops_stray_delete.sql
var strayDeleteSQL string

// CommitPass stores a pass in one transaction. If a tag, unit key or pass number is already stored, it fails.
func (s *Store) CommitPass(ctx context.Context, p PassCommit) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		if err := s.upsertSession(tx, p.Session, p.FlushDone, p.RoomMade); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		key := p.Session.Key
		if err := s.insertUnits(tx, key, p.Units); err != nil {
			return err
		}
		if err := pieces.Commit(tx, key.Harness, key.Session, p.Restored, p.Released); err != nil {
			return err
		}
		if err := s.upsertEdits(tx, key, p.Edits); err != nil {
			return err
		}
		if err := stampUnits(tx, key, p.Stamped); err != nil {
			return err
		}
		if err := inherit(tx, key, p.Inherited, s.Clock.Now()); err != nil {
			return err
		}
		if p.SystemSent {
			if _, err := tx.Exec(systemSentSQL, key.Harness, key.Session); err != nil {
				return fmt.Errorf("system prompt: %w", err)
			}
		}
		if err := s.deleteDrops(tx, key, p.Drained); err != nil {
			return err
		}
		if err := s.insertThinking(tx, key, p.Thinking); err != nil {
			return err
		}
		if err := loseThinking(tx, key, p.LostThinking, p.Pass.Pass); err != nil {
			return err
		}
		if err := upsertNudge(tx, key, p.Nudge); err != nil {
			return err
		}
		if err := upsertRecalls(tx, key, p.Recalls); err != nil {
			return err
		}
		if err := memories.Told(tx, p.NotesTold); err != nil {
			return err
		}
		if err := upsertHead(tx, key, p.Head); err != nil {
			return err
		}
		if err := insertRemovals(tx, key, p.Pass, p.Removals, p.Rereads, p.RereadSince); err != nil {
			return err
		}
		return s.appendJournal(tx, key, p.Pass)
	})
	if err != nil {
		return fmt.Errorf("commit pass %d of %s: %w", p.Pass.Pass, p.Session.Key, err)
	}
	if _, waits := s.Waiting.has.Load(p.Session.Key); waits && len(p.Units) > 0 {
		s.Waiting.Forget(p.Session.Key)
	}
	return nil
}

func (s *Store) upsertSession(tx *database.Tx, r SessionRow, flushDone, roomMade bool) error {
	_, err := tx.Exec(sessionUpsertSQL, r.Key.Harness, r.Key.Session, r.Directory, r.Parent, r.Mode, r.Provider, r.Model,
		r.Epoch, r.TagCounter, r.Passes, r.Busts, r.WireMessages, r.WireChain,
		r.RawMessages, r.RawChain, r.LastPassAt, s.Clock.Now(), flushDone,
		r.Setup.Profile, r.Setup.ShowGaps, r.Setup.TodoMessage, r.Setup.TodoState, r.Setup.ReclaimUpTo,
		r.Episode.ReliefOf, r.Episode.Relief, r.Episode.StuckTag, r.Episode.StuckGrace, r.Episode.StuckBand,
		roomMade, r.Setup.Binds, r.Setup.Preamble, r.Agent, r.LostBlocks, r.LostTokens,
		r.Gauge.Of, r.Gauge.Tokens, r.Gauge.Own, r.Gauge.Base,
		r.Rent.Paid, r.Rent.Coverable, r.Rent.Removable, r.Rent.Price, r.Rent.Queued, r.Rent.Messages, r.Rent.GrewAt,
		r.RawTokens, r.Project, r.Tail.Text, r.Tail.Files, r.Tail.Inputs, r.Tail.Results, r.LimitTokens)
	return err
}

func (s *Store) insertUnits(tx *database.Tx, key Key, units []UnitRow) error {
	if len(units) == 0 {
		return nil
	}
	for _, u := range units {
		_, err := tx.Exec(unitInsertSQL, key.Harness, key.Session, u.Tag, u.UnitKey, u.MessageKey,
			u.Kind, u.Tool, u.Bytes, u.Tokens, u.InputBytes, u.InputTokens, u.GapSeconds, u.Note, u.Fingerprint, u.Typed, u.Kept)
		if err != nil {
			return fmt.Errorf("unit %d: %w", u.Tag, err)
		}
	}
	return deleteStrayDrops(tx, key)
}

// deleteStrayDrops deletes the queued drops whose tag now belongs to a different unit. SQLite builds a table in memory
// for this deletion even if there is nothing to delete. Most sessions have no queued drop, so deleteStrayDrops looks
// for one first.
func deleteStrayDrops(tx *database.Tx, key Key) error {
	hasDrops, err := tx.Exists(dropSelectSQL, key.Harness, key.Session)
	if err == nil && hasDrops {
		_, err = tx.Exec(strayDeleteSQL, key.Harness, key.Session)
	}
	if err != nil {
		return fmt.Errorf("stray drops: %w", err)
	}
	return nil
}

func (s *Store) upsertEdits(tx *database.Tx, key Key, edits []EditRow) error {
	for _, e := range edits {
		if _, err := tx.Exec(editUpsertSQL, key.Harness, key.Session, e.Tag, e.Kind, e.Pass, e.Payload); err != nil {
			return fmt.Errorf("edit %s of unit %d: %w", e.Kind, e.Tag, err)
		}
	}
	return nil
}

func (s *Store) deleteDrops(tx *database.Tx, key Key, tags []int) error {
	for _, tag := range tags {
		if _, err := tx.Exec(dropDeleteSQL, key.Harness, key.Session, tag); err != nil {
			return fmt.Errorf("queued drop %d: %w", tag, err)
		}
	}
	return nil
}
