package models

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A CacheLifeRow is the learned life of a model's cached prefixes. Zeros mean that nothing has been learned yet.
type CacheLifeRow struct {
	Provider string
	Model    string
	// LifeMS is the learned life, and At (Unix ms) is the time when it was learned. If Missed is set, misses have
	// shortened it. Otherwise, a read has lengthened it.
	LifeMS int64
	Missed bool
	At     int64
	// A miss is a pause after which the provider no longer had the prefix. Misses is the number of misses. LeastMS and
	// MostMS are the lengths of the shortest and the longest. If a prefix survives a pause of at least LeastMS, the
	// earlier misses prove nothing, so all three become 0.
	Misses          int
	LeastMS, MostMS int64
}

//go:embed query/cachelife_select.sql
var cacheLifeSelectSQL string

//go:embed query/cachelife_upsert.sql
var cacheLifeUpsertSQL string

// CacheLife returns the learned life of a model's cached prefixes.
func (s *Models) CacheLife(ctx context.Context, provider, model string) (CacheLifeRow, error) {
	r := CacheLifeRow{Provider: provider, Model: model}
	err := s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, cacheLifeSelectSQL, func(row *sqlite3.Stmt) {
			r.LifeMS, r.Missed, r.At = row.ColumnInt64(0), row.ColumnBool(1), row.ColumnInt64(2)
			r.Misses, r.LeastMS, r.MostMS = row.ColumnInt(3), row.ColumnInt64(4), row.ColumnInt64(5)
		}, provider, model)
	})
	if err != nil {
		return CacheLifeRow{}, fmt.Errorf("read cache life of %s/%s: %w", provider, model, err)
	}
	return r, nil
}

func (s *Models) SaveCacheLife(ctx context.Context, r CacheLifeRow) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(cacheLifeUpsertSQL,
			r.Provider, r.Model, r.LifeMS, r.Missed, r.At, r.Misses, r.LeastMS, r.MostMS)
		return err
	})
	if err != nil {
		return fmt.Errorf("save cache life of %s/%s: %w", r.Provider, r.Model, err)
	}
	return nil
}
