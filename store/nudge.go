package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// The states of the nudge message, which tells a session how much it could drop. The state goes from none to
// pending, then claimed, then delivered. There it stays, because a session gets the message only once in its
// life.
const (
	MessageNone      = ""
	MessagePending   = "pending"
	MessageClaimed   = "claimed"
	MessageDelivered = "delivered"
)

// staleClaim is the age from which a claim counts as abandoned. Sending takes at most 100 s, because the shim
// may wait for a pause in the turn.
const staleClaim = 120 * time.Second

// A NudgeRow records the reminders about droppable output that a session's model was given.
type NudgeRow struct {
	Cycle NudgeCycle
	// Message is one of the states above. MessageClaimedAt is in Unix ms.
	Message          string
	MessageClaimedAt int64
}

// A NudgeCycle is the last reminder: how many tokens could have been dropped, and the level of the reminder.
// The level is "" if there was no reminder.
type NudgeCycle struct {
	Undropped int
	Level     string
}

// Nudge returns the record of a session's reminders. If there were none, it is zero.
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

// SwapNudgeCycle replaces the last reminder by to, but only if the stored one equals from.
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

// MoveMessage moves the nudge message of a session from the state from to the state to. If the stored state
// is another one, nothing happens.
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

// ClaimMessage reserves the nudge message of a session for sending, at the time at (Unix ms). Only one caller
// gets it: the message must be pending, or its claim must be so old that its sender must be gone.
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

// swapNudge runs an update of one nudge row, and reports in found whether the update matched a row. A session
// without a row counts as a row of zeros. swapNudge creates the row only if fromZero says that zeros may
// match, so that a late answer does not bring a deleted session back.
func (s *Store) swapNudge(ctx context.Context, found *bool, key Key, fromZero bool, query string, args ...any) error {
	return s.update(ctx, func(tx *transaction) error {
		if fromZero {
			if err := s.ensureNudge(tx, key); err != nil {
				return err
			}
		}
		n, err := tx.exec(query, append([]any{key.Harness, key.Session}, args...)...)
		*found = n > 0
		return err
	})
}

func (s *Store) ensureNudge(tx *transaction, key Key) error {
	if err := s.ensureSession(tx, key); err != nil {
		return err
	}
	_, err := tx.exec(`
		INSERT INTO nudges (harness, session_id)
		VALUES (?, ?)
		ON CONFLICT (harness, session_id) DO NOTHING`,
		key.Harness, key.Session)
	return err
}

// healClaims makes messages with an abandoned claim pending again. It reads first. So if there is nothing to
// heal, Open need not wait for the write lock.
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
		err = s.update(ctx, func(tx *transaction) error {
			_, err := tx.exec(`
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
