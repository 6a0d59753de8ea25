package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// The states of a session's message about output to drop. It goes from none over
// pending and claimed to delivered, where it stays: one in a session's life.
const (
	MessageNone      = ""
	MessagePending   = "pending"
	MessageClaimed   = "claimed"
	MessageDelivered = "delivered"
)

// staleClaim is the age from which nobody is taken to work on a claim any more
// (spec transform §23).
const staleClaim = 120 * time.Second

// A NudgeRow is what the model of a session was told about output to drop.
type NudgeRow struct {
	Cycle NudgeCycle
	// Message is one of the states above, MessageClaimedAt Unix ms.
	Message          string
	MessageClaimedAt int64
}

// A NudgeCycle is the last reminder: how many tokens there were to drop, and its
// level, "" for none.
type NudgeCycle struct {
	Undropped int
	Level     string
}

// Nudge returns what the model of a session was told; zeros where nothing was.
func (s *Store) Nudge(ctx context.Context, key Key) (n NudgeRow, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		return scan(c, `
			SELECT undropped, level, message, message_claimed_at
			FROM nudges
			WHERE harness = ? AND session_id = ?`,
			func(row *sqlite3.Stmt) {
				n = NudgeRow{
					Cycle:   NudgeCycle{Undropped: row.ColumnInt(0), Level: row.ColumnText(1)},
					Message: row.ColumnText(2), MessageClaimedAt: row.ColumnInt64(3),
				}
			}, key.Harness, key.Session)
	})
	if err != nil {
		return NudgeRow{}, fmt.Errorf("read nudges of %s: %w", key, err)
	}
	return n, nil
}

// SwapNudgeCycle replaces the last reminder, if it still is the one given.
func (s *Store) SwapNudgeCycle(ctx context.Context, key Key, from, to NudgeCycle) (swapped bool, err error) {
	err = s.swapNudge(ctx, &swapped, key, from == NudgeCycle{}, `
		UPDATE nudges
		SET undropped = ?5, level = ?6
		WHERE harness = ?1 AND session_id = ?2 AND undropped = ?3 AND level = ?4`,
		from.Undropped, from.Level, to.Undropped, to.Level)
	if err != nil {
		return false, fmt.Errorf("note reminder of %s: %w", key, err)
	}
	return swapped, nil
}

// MoveMessage takes the message of a session from one state to another, if it is
// in the first.
func (s *Store) MoveMessage(ctx context.Context, key Key, from, to string) (moved bool, err error) {
	err = s.swapNudge(ctx, &moved, key, from == MessageNone, `
		UPDATE nudges
		SET message = ?4, message_claimed_at = 0
		WHERE harness = ?1 AND session_id = ?2 AND message = ?3`,
		from, to)
	if err != nil {
		return false, fmt.Errorf("message of %s from %q to %q: %w", key, from, to, err)
	}
	return moved, nil
}

// ClaimMessage takes the message of a session for sending, at the time at (Unix
// ms). Of all who want it one gets it: it must be pending, or be claimed by
// somebody who is gone.
func (s *Store) ClaimMessage(ctx context.Context, key Key, at int64) (claimed bool, err error) {
	err = s.swapNudge(ctx, &claimed, key, false, `
		UPDATE nudges
		SET message = 'claimed', message_claimed_at = ?3
		WHERE harness = ?1 AND session_id = ?2
			AND (message = 'pending' OR message = 'claimed' AND message_claimed_at <= ?4)`,
		at, at-staleClaim.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("claim message of %s: %w", key, err)
	}
	return claimed, nil
}

// swapNudge runs an update of one nudge, and tells whether it found its row. A
// session without a row has one of zeros; it is made only where that may match,
// so that a late answer does not bring a deleted session back.
func (s *Store) swapNudge(ctx context.Context, found *bool, key Key, fromZero bool, query string, args ...any) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		if fromZero {
			if err := s.ensureNudge(ctx, tx, key); err != nil {
				return err
			}
		}
		changed, err := tx.ExecContext(ctx, query, append([]any{key.Harness, key.Session}, args...)...)
		if err != nil {
			return err
		}
		n, err := changed.RowsAffected()
		*found = n > 0
		return err
	})
}

func (s *Store) ensureNudge(ctx context.Context, tx *sql.Tx, key Key) error {
	if err := s.ensureSession(ctx, tx, key); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO nudges (harness, session_id)
		VALUES (?, ?)
		ON CONFLICT (harness, session_id) DO NOTHING`,
		key.Harness, key.Session)
	return err
}

// healClaims makes the messages pending again whose claimer is gone. It looks
// first: an open that has nothing to heal waits for no lock.
func (s *Store) healClaims(ctx context.Context) error {
	until := int(s.clock.Now() - staleClaim.Milliseconds())
	stale := 0
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return scan(c, `
			SELECT count(*)
			FROM nudges
			WHERE message = 'claimed' AND message_claimed_at <= ?`,
			func(row *sqlite3.Stmt) { stale = row.ColumnInt(0) }, until)
	})
	if err == nil && stale > 0 {
		err = s.update(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `
				UPDATE nudges
				SET message = 'pending', message_claimed_at = 0
				WHERE message = 'claimed' AND message_claimed_at <= ?`, until)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("heal claimed messages: %w", err)
	}
	return nil
}
