package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// A pass waits this long for the model's limits. The harness has them in memory, so it usually answers at once.
const limitsTimeout = 1500 * time.Millisecond

// A prompt limit outside these bounds is a mistake in the catalogue. The largest window on sale has 10,000,000 tokens
// (Llama 4 Scout). Small local models have 4,096 or 2,048. A number below 1,000 is a dummy (0, -1) or counts
// thousands (128 for 128,000).
const (
	minPromptLimit = 1_000
	maxPromptLimit = 10_000_000
)

// If the input limit is below smallInput, and the window is at least farFromInput times as large, the input limit is
// ignored. It is probably truncated: a harness that reads a half-written catalogue may see 6,748 for a model with
// 400,000 tokens.
const (
	smallInput   = 20_000
	farFromInput = 10
)

// Limits asks the harness once per connection, so that a trace of any connection contains the answer. If the harness
// does not answer, Limits returns the last answer of any harness, or zero.
//
// If the client has left, Limits returns ErrClientLeft, and the caller must decide nothing. A decision without the
// limits would last: for example, a wrong provider profile stays until the next hard pass.
func (ms *Models) Limits(ctx context.Context, c client.Client, directory string, m schema.Model) (schema.ModelLimits, error) {
	if m.ID == "" {
		return schema.ModelLimits{}, nil
	}
	if known, ok := ms.Clients.Limits(c, m); ok {
		return known, nil
	}
	ask, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	limits, err := c.ModelLimits(ask, schema.ModelLimitsParams{Directory: directory, Model: m})
	if errors.Is(err, client.ErrClientLeft) {
		return schema.ModelLimits{}, fmt.Errorf("limits of model %s: %w", m.ID, err)
	}
	if err != nil {
		ms.Log.Warn("the harness does not tell the model's limits", "provider", m.Provider, "model", m.ID, "error", err)
		row, found, err := ms.Store.Models.Limits(ctx, m.Provider, m.ID)
		if err != nil || !found {
			return schema.ModelLimits{}, nil
		}
		return limitsFromRow(row), nil
	}
	ms.Clients.SetLimits(c, m, limits)
	writing, cancel := ms.Guard.Writing(ctx)
	defer cancel()
	ms.Guard.Wrote(ms.Store.Models.SaveLimits(writing, rowFromLimits(m, limits, ms.Clock.Now())))
	return limits, nil
}

// PromptLimit returns how many tokens a prompt may have, or 0 if unknown. It prefers the input limit to the window:
// some providers enforce the input limit, and publish input plus output as the window.
func PromptLimit(l schema.ModelLimits) int {
	input, context := plausible(l.InputTokens), plausible(l.ContextTokens)
	if input == 0 || input < smallInput && context >= farFromInput*input {
		return context
	}
	return input
}

func plausible(tokens int) int {
	if tokens < minPromptLimit || tokens > maxPromptLimit {
		return 0
	}
	return tokens
}

func limitsFromRow(r models.LimitsRow) schema.ModelLimits {
	return schema.ModelLimits{
		ContextTokens: r.ContextTokens, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, NPM: r.NPM,
		Price: schema.Price{Fresh: r.PriceFresh, Write: r.PriceWrite, Read: r.PriceRead, Output: r.PriceOutput},
	}
}

func rowFromLimits(m schema.Model, l schema.ModelLimits, at int64) models.LimitsRow {
	return models.LimitsRow{
		Provider: m.Provider, Model: m.ID, ContextTokens: l.ContextTokens, InputTokens: l.InputTokens, OutputTokens: l.OutputTokens,
		PriceFresh: l.Price.Fresh, PriceWrite: l.Price.Write, PriceRead: l.Price.Read, PriceOutput: l.Price.Output,
		NPM: l.NPM, At: at,
	}
}
