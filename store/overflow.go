package store

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/store/database"
)

// MarkOverflow records that the provider refused the prompt of a pass as too long, at the time `at` (Unix ms). `tokens`
// is the size of the prompt that the provider's error names, or 0. Harnesses may report the same refusal several times.
// If this refusal is already recorded, isNew is false.
func (s *Store) MarkOverflow(ctx context.Context, key Key, pass int, at int64, tokens int) (isNew bool, err error) {
	err = s.Update(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(`
			UPDATE sessions
			SET overflow_at = ?4, overflow_pass = ?3, overflow_tokens = ?5
			WHERE harness = ?1 AND session_id = ?2 AND overflow_pass < ?3`,
			key.Harness, key.Session, pass, at, tokens)
		isNew = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("mark overflow in pass %d of %s: %w", pass, key, err)
	}
	return isNew, nil
}

// ClearOverflow records that the session's prompts fit again. It keeps the number of the refused pass, so that a late
// report of the same refusal does not count as new.
func (s *Store) ClearOverflow(ctx context.Context, key Key) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			UPDATE sessions
			SET overflow_at = 0
			WHERE harness = ?1 AND session_id = ?2`,
			key.Harness, key.Session)
		return err
	})
	if err != nil {
		return fmt.Errorf("clear overflow of %s: %w", key, err)
	}
	return nil
}
