package model

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// CacheLife returns what the host believes about the provider's cache. npm is the package that the harness uses for the
// provider, for example "@ai-sdk/anthropic".
func (ms *Models) CacheLife(ctx context.Context, harness string, cfg schema.Config, m schema.Model, npm string) route.Belief {
	configured := config.CacheTTL(cfg, m.Provider, m.ID)
	b := route.Of(m, npm).Believe(configured, ms.learnedLife(ctx, m), ms.Clients.KeptWarm(harness))
	b.Route.Cliff = CliffOf(cfg, m)
	return b
}

// CliffOf returns the size from which the tokens of a prompt cost more. If the user has configured a size, it takes
// precedence.
func CliffOf(cfg schema.Config, m schema.Model) route.Cliff {
	if above, factor, isSet := config.PriceCliff(cfg, m.Provider, m.ID); isSet {
		return route.Cliff{Above: above, Factor: factor}
	}
	return route.Of(m, "").Cliff
}

func (ms *Models) learnedLife(ctx context.Context, m schema.Model) route.Learned {
	if m.ID == "" {
		return route.Learned{}
	}
	life, err := ms.lives.of(m, func() (route.Learned, error) {
		row, err := ms.Store.Models.CacheLife(ctx, m.Provider, m.ID)
		return learnedFromRow(row), err
	})
	if err != nil {
		ms.Log.Warn("cache life of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return route.Learned{}
	}
	return life
}

func (ms *Models) LearnLife(ctx context.Context, m schema.Model, change func(route.Learned) route.Learned) error {
	known := func() route.Learned { return ms.learnedLife(ctx, m) }
	return ms.lives.change(m, known, change, func(before, after route.Learned) error {
		if after.Life != before.Life {
			ms.Log.Info("cache life learned", "provider", m.Provider, "model", m.ID, "life", after.Life, "before", before.Life, "missed", after.Missed)
		}
		return ms.Store.Models.SaveCacheLife(ctx, rowFromLearned(m, after))
	})
}

func learnedFromRow(r models.CacheLifeRow) route.Learned {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return route.Learned{Life: ms(r.LifeMS), Missed: r.Missed, At: r.At, Misses: r.Misses, Least: ms(r.LeastMS), Most: ms(r.MostMS)}
}

func rowFromLearned(m schema.Model, l route.Learned) models.CacheLifeRow {
	return models.CacheLifeRow{
		Provider: m.Provider, Model: m.ID, LifeMS: l.Life.Milliseconds(), Missed: l.Missed, At: l.At,
		Misses: l.Misses, LeastMS: l.Least.Milliseconds(), MostMS: l.Most.Milliseconds(),
	}
}
