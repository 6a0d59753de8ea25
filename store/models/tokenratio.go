package models

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A TokenRatioRow says how many tokens a model's provider counts for one token of the host's count, for example 1.4.
// Samples is the number of usage reports from which the ratio was learned. At is the time of the newest report, in Unix
// ms.
type TokenRatioRow struct {
	Provider string
	Model    string
	Ratio    float64
	Samples  int
	At       int64
}

// TokenRatio returns the learned ratio of a model. If none was learned, found is false.
func (s *Models) TokenRatio(ctx context.Context, provider, model string) (r TokenRatioRow, found bool, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT ratio, samples, at
			FROM token_ratios
			WHERE provider = ? AND model = ?`,
			func(row *sqlite3.Stmt) {
				found = true
				r = TokenRatioRow{Provider: provider, Model: model, Ratio: row.ColumnFloat(0), Samples: row.ColumnInt(1), At: row.ColumnInt64(2)}
			}, provider, model)
	})
	if err != nil {
		return TokenRatioRow{}, false, fmt.Errorf("read token ratio of %s/%s: %w", provider, model, err)
	}
	return r, found, nil
}

func (s *Models) SaveTokenRatio(ctx context.Context, r TokenRatioRow) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			INSERT INTO token_ratios (provider, model, ratio, samples, at)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (provider, model) DO UPDATE SET
				ratio   = excluded.ratio,
				samples = excluded.samples,
				at      = excluded.at`, r.Provider, r.Model, r.Ratio, r.Samples, r.At)
		return err
	})
	if err != nil {
		return fmt.Errorf("save token ratio of %s/%s: %w", r.Provider, r.Model, err)
	}
	return nil
}
