package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// limitsTimeout bounds the question to the harness's catalogue: the answer is
// in its memory, and a pass is waiting.
const limitsTimeout = 1500 * time.Millisecond

// A prompt limit outside these bounds is a mistake of the catalogue (spec
// transform §5.1).
const (
	minPromptLimit = 20_000
	maxPromptLimit = 3_000_000
)

// modelLimits returns what is known of a model: what the harness says, asked
// once in a process, else what it said last. Zero where nobody knows.
func (h *Host) modelLimits(ctx context.Context, c Client, directory string, m schema.Model) schema.ModelLimits {
	if m.ID == "" {
		return schema.ModelLimits{}
	}
	h.mu.Lock()
	known, ok := h.limits[m]
	h.mu.Unlock()
	if ok {
		return known
	}
	ask, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	limits, err := c.ModelLimits(ask, schema.ModelLimitsParams{Directory: directory, Model: m})
	if err != nil {
		h.Log.Warn("the harness does not tell the model's limits", "provider", m.Provider, "model", m.ID, "error", err)
		row, found, err := h.Store.Limits(ctx, m.Provider, m.ID)
		if err != nil || !found {
			return schema.ModelLimits{}
		}
		return limitsFromRow(row)
	}
	h.mu.Lock()
	h.limits[m] = limits
	h.mu.Unlock()
	h.stored(h.Store.SaveLimits(ctx, rowFromLimits(m, limits, h.Clock.Now())))
	return limits
}

// promptLimit returns how many tokens a prompt may have, 0 when unknown. The
// input limit is preferred: some providers enforce it and publish input plus
// output as their window.
func promptLimit(l schema.ModelLimits) int {
	for _, n := range []int{l.InputTokens, l.ContextTokens} {
		if n >= minPromptLimit && n <= maxPromptLimit {
			return n
		}
	}
	return 0
}

func limitsFromRow(r store.LimitsRow) schema.ModelLimits {
	return schema.ModelLimits{
		ContextTokens: r.ContextTokens, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, NPM: r.NPM,
		Price: schema.Price{Fresh: r.PriceFresh, Write: r.PriceWrite, Read: r.PriceRead, Output: r.PriceOutput},
	}
}

func rowFromLimits(m schema.Model, l schema.ModelLimits, at int64) store.LimitsRow {
	return store.LimitsRow{
		Provider: m.Provider, Model: m.ID, ContextTokens: l.ContextTokens, InputTokens: l.InputTokens, OutputTokens: l.OutputTokens,
		PriceFresh: l.Price.Fresh, PriceWrite: l.Price.Write, PriceRead: l.Price.Read, PriceOutput: l.Price.Output,
		NPM: l.NPM, Source: "harness", At: at,
	}
}
