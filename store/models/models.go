package models

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/store/database"
)

// Models holds the host's experience with models: limits, windows, cache lives and token ratios.
type Models struct{ db *database.DB }

func In(db *database.DB) *Models { return &Models{db} }

// Forget deletes what the host knows about models that no session uses, if it has learned nothing about them since the
// given time (Unix ms).
func (s *Models) Forget(ctx context.Context, before int64) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		for _, query := range []string{
			`DELETE FROM model_limits WHERE at < ?1 AND (provider, model) NOT IN (SELECT provider, model FROM sessions)`,
			`DELETE FROM model_windows WHERE max(overflow_at, accepted_at) < ?1 AND (provider, model) NOT IN (SELECT provider, model FROM sessions)`,
			`DELETE FROM cache_lives WHERE at < ?1 AND (provider, model) NOT IN (SELECT provider, model FROM sessions)`,
			`DELETE FROM token_ratios WHERE at < ?1 AND (provider, model) NOT IN (SELECT provider, model FROM sessions)`,
		} {
			if _, err := tx.Exec(query, before); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget models: %w", err)
	}
	return nil
}
