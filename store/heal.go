package store

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// No host writes a negative counter or one of these sizes. If a row holds one, a broken disk or another
// program has changed it. The session must still go on, so reads replace the number by the nearest one that
// makes sense.
const (
	maxCount = 1 << 48 // of messages, passes, tags, tokens
	maxTotal = 1 << 53 // of tokens, over the life of a session
)

// count reads a counter. It returns 0 for a negative one, and at most maxCount.
func count(s *sqlite3.Stmt, column int) int { return int(min(max(0, s.ColumnInt64(column)), maxCount)) }

// total reads a sum. It returns 0 for a negative one, and at most maxTotal.
func total(s *sqlite3.Stmt, column int) int64 { return min(max(0, s.ColumnInt64(column)), maxTotal) }

// healCounters raises the counters of a loaded session to the numbers that its rows already use. Otherwise,
// after the loss of a counter, a tag or pass number would be given a second time, and no pass of the session
// could be stored.
func healCounters(c *sqlite3.Conn, snap *Snapshot) error {
	for _, u := range snap.Units {
		if u.Tag <= 2*maxCount {
			snap.Session.TagCounter = max(snap.Session.TagCounter, u.Tag)
		}
	}
	return scan(c, `
		SELECT max(pass)
		FROM passes
		WHERE harness = ? AND session_id = ? AND pass <= ?`,
		func(row *sqlite3.Stmt) { snap.Session.Passes = max(snap.Session.Passes, row.ColumnInt(0)) },
		snap.Session.Key.Harness, snap.Session.Key.Session, 2*maxCount)
}

// hasNonsenseSums reports whether a sum over the session's units is too large to be raised again. The trigger
// that raises it would then fail, and each pass with it.
func hasNonsenseSums(c *sqlite3.Conn, key Key) (found bool, err error) {
	err = scan(c, `
		SELECT count(*)
		FROM unit_sums
		WHERE harness = ?1 AND session_id = ?2
			AND max(units, tokens, input_tokens, dropped_units, dropped_tokens, dropped_input_tokens) > ?3`,
		func(row *sqlite3.Stmt) { found = row.ColumnInt(0) > 0 }, key.Harness, key.Session, maxTotal)
	return found, err
}

// healSums limits the session's sums to a number that can still be raised.
func (s *Store) healSums(ctx context.Context, key Key) error {
	err := s.update(ctx, func(tx *transaction) error {
		_, err := tx.exec(`
			UPDATE unit_sums
			SET units = min(units, ?3), tokens = min(tokens, ?3), input_tokens = min(input_tokens, ?3),
				dropped_units = min(dropped_units, ?3), dropped_tokens = min(dropped_tokens, ?3),
				dropped_input_tokens = min(dropped_input_tokens, ?3)
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, maxTotal)
		return err
	})
	if err != nil {
		return fmt.Errorf("heal sums of %s: %w", key, err)
	}
	return nil
}
