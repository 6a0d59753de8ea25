package models

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A LimitsRow holds the known limits and prices of a model. Zero means unknown.
type LimitsRow struct {
	Provider      string
	Model         string
	ContextTokens int
	InputTokens   int
	OutputTokens  int
	// Prices are per million tokens, in the currency of the catalogue.
	PriceFresh  float64
	PriceWrite  float64
	PriceRead   float64
	PriceOutput float64
	NPM         string // the npm package through which the harness calls the provider
	At          int64  // Unix ms
}

//go:embed query/limits_select.sql
var limitsSelectSQL string

//go:embed query/limits_upsert.sql
var limitsUpsertSQL string

// Limits returns the known limits of a model. If none is known, found is false.
func (s *Models) Limits(ctx context.Context, provider, model string) (limits LimitsRow, found bool, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) (err error) {
		limits, found, err = readLimits(c, provider, model)
		return err
	})
	if err != nil {
		return LimitsRow{}, false, fmt.Errorf("read limits of %s/%s: %w", provider, model, err)
	}
	return limits, found, nil
}

// Priced returns the models for which a harness has named a price.
func (s *Models) Priced(ctx context.Context) (all [][2]string, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT provider, model FROM model_limits WHERE price_fresh > 0 OR price_write > 0 OR price_read > 0`, func(row *sqlite3.Stmt) {
			all = append(all, [2]string{row.ColumnText(0), row.ColumnText(1)})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read models with a price: %w", err)
	}
	return all, nil
}

func (s *Models) SaveLimits(ctx context.Context, l LimitsRow) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(limitsUpsertSQL,
			l.Provider, l.Model, l.ContextTokens, l.InputTokens, l.OutputTokens,
			l.PriceFresh, l.PriceWrite, l.PriceRead, l.PriceOutput, l.NPM, l.At)
		return err
	})
	if err != nil {
		return fmt.Errorf("save limits of %s/%s: %w", l.Provider, l.Model, err)
	}
	return nil
}

// View returns the known limits of a model in the database in dir, or zeros. It works even while a host has the
// database open. See file.View for the errors.
func View(ctx context.Context, dir, provider, model string) (limits LimitsRow, err error) {
	err = file.View(ctx, dir, func(c *sqlite3.Conn) error {
		limits, _, err = readLimits(c, provider, model)
		return err
	})
	return limits, err
}

func readLimits(c *sqlite3.Conn, provider, model string) (limits LimitsRow, found bool, err error) {
	err = file.Scan(c, limitsSelectSQL, func(row *sqlite3.Stmt) {
		found = true
		limits = LimitsRow{
			Provider:      provider,
			Model:         model,
			ContextTokens: row.ColumnInt(0),
			InputTokens:   row.ColumnInt(1),
			OutputTokens:  row.ColumnInt(2),
			PriceFresh:    row.ColumnFloat(3),
			PriceWrite:    row.ColumnFloat(4),
			PriceRead:     row.ColumnFloat(5),
			PriceOutput:   row.ColumnFloat(6),
			NPM:           row.ColumnText(7),
			At:            row.ColumnInt64(8),
		}
	}, provider, model)
	return limits, found, err
}
