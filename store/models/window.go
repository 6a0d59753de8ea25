package models

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A WindowRow holds what refused and accepted prompts tell us about the size of a model's window. If no prompt was
// refused, or none was accepted, the fields about such prompts are zero.
type WindowRow struct {
	Provider string
	Model    string
	// OverflowTokens is the limit that the provider gave when it refused a prompt. OverflowAt is the time of this
	// refusal (Unix ms).
	OverflowTokens int
	OverflowAt     int64
	// AcceptedTokens is the largest prompt that the provider has accepted since the refusal, and AcceptedAt is the time
	// of that prompt.
	AcceptedTokens int
	AcceptedAt     int64
}

//go:embed query/window_select.sql
var windowSelectSQL string

//go:embed query/window_upsert.sql
var windowUpsertSQL string

// Window returns the observations about a model's window.
func (s *Models) Window(ctx context.Context, provider, model string) (WindowRow, error) {
	w := WindowRow{Provider: provider, Model: model}
	err := s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, windowSelectSQL, func(row *sqlite3.Stmt) {
			w.OverflowTokens, w.OverflowAt = row.ColumnInt(0), row.ColumnInt64(1)
			w.AcceptedTokens, w.AcceptedAt = row.ColumnInt(2), row.ColumnInt64(3)
		}, provider, model)
	})
	if err != nil {
		return WindowRow{}, fmt.Errorf("read window of %s/%s: %w", provider, model, err)
	}
	return w, nil
}

func (s *Models) SaveWindow(ctx context.Context, w WindowRow) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(windowUpsertSQL,
			w.Provider, w.Model, w.OverflowTokens, w.OverflowAt, w.AcceptedTokens, w.AcceptedAt)
		return err
	})
	if err != nil {
		return fmt.Errorf("save window of %s/%s: %w", w.Provider, w.Model, err)
	}
	return nil
}
