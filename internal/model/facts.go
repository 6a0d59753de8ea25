package model

import (
	"context"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// A catalogue's price is for TokensPerPrice tokens.
const TokensPerPrice = 1_000_000

// Facts describes a model for the status. The facts are in the store, so they are known even if no harness is
// connected.
type Facts struct {
	Row models.LimitsRow
	// Price is in dollars per million tokens. If IsPriced is false, the catalogue has no prices. Then only the ratios
	// between the numbers of Price mean something.
	Price    schema.Price
	IsPriced bool
	// IsKnown means that the harness has named the model's limits.
	IsKnown bool
}

// Facts returns what the store knows about a model. If the catalogue has no prices, for example for a subscription,
// IsPriced is false.
func (ms *Models) Facts(ctx context.Context, m schema.Model) Facts {
	row, isKnown, err := ms.Store.Models.Limits(ctx, m.Provider, m.ID)
	if err != nil {
		ms.Log.Warn("limits of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
	}
	r := route.Of(m, row.NPM).Believe(nil, ms.learnedLife(ctx, m), 0).Route
	return Facts{
		Row: row, Price: r.Price(limitsFromRow(row).Price), IsPriced: row.PriceFresh > 0 || row.PriceWrite > 0 || row.PriceRead > 0, IsKnown: isKnown,
	}
}

// Rewriting returns how much more it costs to write these tokens to the provider's cache than to read them from it. If
// the model has no prices, it returns nil.
func (f Facts) Rewriting(tokens int) *float64 {
	if !f.IsPriced {
		return nil
	}
	cost := float64(tokens) * max(0, f.Price.Write-f.Price.Read) / TokensPerPrice
	return &cost
}

// RereadCost returns the cost of the removed content that the model has read again. The provider charges the price of a
// cache write for it.
func (f Facts) RereadCost(all []schema.Removal) float64 {
	return promptcache.Bill(promptcache.Tokens{Write: schema.SumOf(all).Reread}, f.Price)
}

func Bill(p schema.Price, used ask.Usage) float64 {
	return promptcache.Bill(promptcache.Tokens{Fresh: used.Input, Write: used.CacheWrite, Read: used.CacheRead, Output: used.Output}, p)
}
