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

// limitsTimeout bounds the request to the harness's catalogue. It is short because the harness has the answer
// in memory, and a pass waits for it.
const limitsTimeout = 1500 * time.Millisecond

// A prompt limit outside these bounds is a mistake in the catalogue. The largest window that anybody sells has
// 10,000,000 tokens (Llama 4 Scout). Small models that people run themselves have windows of 4,096 or 2,048
// tokens. A number below 1,000 is either a dummy (0, -1) or counts thousands (128 for 128,000). A harness could
// not even fit its own system prompt into such a window.
const (
	minPromptLimit = 1_000
	maxPromptLimit = 10_000_000
)

// If an input limit is below smallInput, it is used only if the whole window is less than farFromInput times as large.
// For example, if a harness reads its catalogue from a file that is still being written, the input limit of a model
// with 400,000 tokens may appear as 6,748.
const (
	smallInput   = 20_000
	farFromInput = 10
)

// Limits returns the limits of a model. It asks the harness once on each connection, so that a trace of any
// connection holds the answer. If the harness does not answer, it returns the last answer that any harness
// gave. If no harness has answered, the result is zero.
//
// If the client has left, Limits returns ErrClientLeft, and the caller must decide nothing. The harness is
// about to ask again over a new connection, and a decision without the limits would last: for example, the
// provider profile stays until the next hard pass.
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

// PromptLimit returns how many tokens a prompt may have, or 0 if that is unknown. It prefers the input limit,
// because some providers enforce it and publish input plus output as their window.
func PromptLimit(l schema.ModelLimits) int {
	input, context := plausible(l.InputTokens), plausible(l.ContextTokens)
	if input == 0 || input < smallInput && context >= farFromInput*input {
		return context
	}
	return input
}

// plausible returns tokens, or 0 if no model can have such a prompt limit.
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
