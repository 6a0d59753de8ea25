package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// maxTotal bounds a sum of tokens over the life of a session, as database.MaxCount bounds a counter.
const maxTotal = 1 << 53

func total(s *sqlite3.Stmt, column int) int64 { return min(max(0, s.ColumnInt64(column)), maxTotal) }

// The function `newest` returns -1 if there is no compartment.
func newest(s *sqlite3.Stmt, column int) int {
	return int(min(max(-1, s.ColumnInt64(column)), database.MaxCount))
}

// healRanges makes the compartments of a session contiguous again. If the end of a compartment is impossible,
// healRanges computes it from the number of the compartment's keys. If this end is impossible, too, healRanges leaves
// out the compartment and all later ones, so that their messages are summarised again. It also limits the sizes, so
// that their sum cannot overflow. isSound means that nothing had to be changed.
func healRanges(rows []chronicle.Compartment) (healed []chronicle.Compartment, isSound bool) {
	healed, isSound = slices.Clone(rows), true
	next := 1
	for i := range healed {
		r := &healed[i]
		end := r.End
		canBe := func() bool { return next <= end && end <= next+maxRange }
		if !canBe() || i+1 < len(rows) && rows[i+1].Start != end+1 {
			end = next + len(r.Keys) - 1
		}
		if !canBe() {
			return healed[:i], false
		}
		size := min(max(0, r.RawTokens), database.MaxCount)
		isSound = isSound && r.Seq == i && r.Start == next && r.End == end && r.RawTokens == size
		r.Seq, r.Start, r.End, r.RawTokens, next = i, next, end, size, end+1
	}
	return healed, isSound
}

// maxRange bounds the messages of a compartment. A run reads at most some thousand.
const maxRange = 1 << 20

func (s *History) replaceCompartments(ctx context.Context, key Key, healed []chronicle.Compartment) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if err := removeForPromotion(tx, key); err != nil {
			return err
		}
		return insertCompartments(tx, publishedTable, key, HistoryEnd{Ordinal: 1}, healed, s.db.Clock.Now())
	})
	if err != nil {
		return fmt.Errorf("heal the compartments of %s: %w", key, err)
	}
	return nil
}

// healCounters raises the session's counters to the highest tag and pass number in its rows. With a lower counter, the
// host would give a number a second time, and the database would then refuse every pass of the session.
func healCounters(c *sqlite3.Conn, snap *Snapshot) error {
	for _, u := range snap.Units {
		if u.Tag <= 2*database.MaxCount {
			snap.Session.TagCounter = max(snap.Session.TagCounter, u.Tag)
		}
	}
	return file.Scan(c, `
		SELECT max(pass)
		FROM passes
		WHERE harness = ? AND session_id = ? AND pass <= ?`,
		func(row *sqlite3.Stmt) { snap.Session.Passes = max(snap.Session.Passes, row.ColumnInt(0)) },
		snap.Session.Key.Harness, snap.Session.Key.Session, 2*database.MaxCount)
}

// hasNonsenseSums reports whether a sum of the session is impossibly large. The trigger that increases this sum would
// fail, and with it every pass of the session.
func hasNonsenseSums(c *sqlite3.Conn, key Key) (found bool, err error) {
	err = file.Scan(c, `
		SELECT count(*)
		FROM unit_sums
		WHERE harness = ?1 AND session_id = ?2
			AND max(units, dropped_units, dropped_tokens) > ?3`,
		func(row *sqlite3.Stmt) { found = row.ColumnInt(0) > 0 }, key.Harness, key.Session, maxTotal)
	return found, err
}

// healSums limits the session's sums to numbers that can still be increased.
func (s *Store) healSums(ctx context.Context, key Key) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			UPDATE unit_sums
			SET units = min(units, ?3), dropped_units = min(dropped_units, ?3), dropped_tokens = min(dropped_tokens, ?3)
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, maxTotal)
		return err
	})
	if err != nil {
		return fmt.Errorf("heal sums of %s: %w", key, err)
	}
	return nil
}
