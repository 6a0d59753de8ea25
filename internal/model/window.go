package model

import (
	"context"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// A Window is our current estimate of a model's prompt limit, with its source
// (catalogue, overflow, usage) and the time we learned it.
type Window struct {
	// Tokens is 0 if the limit is unknown. Then pressure is measured against pipeline.DefaultLimitTokens, and
	// there are no budgets.
	Tokens int
	Source schema.LimitSource
	// At is in Unix milliseconds. It is 0 for the default.
	At int64
}

// believe combines the catalogue's limit with our experience with the model. A proven overflow can lower the
// catalogue's limit but never raise it. If a larger prompt than the limit was accepted, that prompt's size
// overrides the limit.
func believe(catalogue schema.ModelLimits, catalogueAt int64, use models.WindowRow) Window {
	w := Window{Source: schema.LimitDefault}
	if n := PromptLimit(catalogue); n > 0 {
		w = Window{n, schema.LimitCatalogue, catalogueAt}
	}
	refused := use.OverflowTokens > 0 && use.OverflowTokens >= use.AcceptedTokens
	if refused && (w.Tokens == 0 || use.OverflowTokens < w.Tokens) {
		return Window{use.OverflowTokens, schema.LimitOverflow, use.OverflowAt}
	}
	doubted := w.Tokens
	if doubted == 0 {
		doubted = pipeline.DefaultLimitTokens
	}
	if use.AcceptedTokens > doubted && use.AcceptedTokens <= maxPromptLimit {
		return Window{use.AcceptedTokens, schema.LimitUsage, use.AcceptedAt}
	}
	return w
}

// Window returns the estimate for a model. catalogue holds the limits that the harness reported.
func (ms *Models) Window(ctx context.Context, m schema.Model, catalogue schema.ModelLimits) Window {
	return believe(catalogue, 0, ms.use(ctx, m))
}

// use returns our experience with a model: refused and accepted prompts.
func (ms *Models) use(ctx context.Context, m schema.Model) models.WindowRow {
	row, err := ms.uses.of(m, func() (models.WindowRow, error) { return ms.Store.Models.Window(ctx, m.Provider, m.ID) })
	if err != nil {
		ms.Log.Warn("window of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return models.WindowRow{Provider: m.Provider, Model: m.ID}
	}
	return row
}

// learn changes the stored experience with a model.
func (ms *Models) learn(ctx context.Context, m schema.Model, change func(*models.WindowRow)) error {
	if m.ID == "" {
		return nil
	}
	known := func() models.WindowRow { return ms.use(ctx, m) }
	next := func(row models.WindowRow) models.WindowRow { change(&row); return row }
	return ms.uses.change(m, known, next, func(before, after models.WindowRow) error {
		if after.OverflowTokens != before.OverflowTokens {
			ms.Log.Info("window learned", "provider", m.Provider, "model", m.ID, "overflowTokens", after.OverflowTokens, "before", before.OverflowTokens)
		}
		return ms.Store.Models.SaveWindow(ctx, after)
	})
}

// NoteRefusal records that a provider refused a prompt for its length at the given time. limitTokens is the limit
// that the provider named, or 0.
func (ms *Models) NoteRefusal(ctx context.Context, m schema.Model, limitTokens int, at int64) error {
	return ms.learn(ctx, m, refused(limitTokens, at))
}

// NoteAccepted records that a prompt was answered at the given time, which proves that a prompt of this size fits.
func (ms *Models) NoteAccepted(ctx context.Context, m schema.Model, promptTokens int, at, now int64) error {
	return ms.learn(ctx, m, accepted(promptTokens, at, now))
}

// refused returns a change that records a refusal at the given time. limitTokens is the limit that the
// provider named, or 0. Prompts that were accepted earlier no longer prove anything, because the provider or
// the account may have changed.
func refused(limitTokens int, at int64) func(*models.WindowRow) {
	return func(w *models.WindowRow) {
		w.AcceptedTokens, w.AcceptedAt = 0, 0
		if limitTokens > 0 {
			w.OverflowTokens, w.OverflowAt = limitTokens, at
		}
	}
}

// accepted returns a change that records a prompt that was answered at the given time. If the prompt was
// larger than the limit of an earlier refusal, accepted withdraws that limit. If the prompt is older than the
// refusal, the limit stays; harnesses may report such an answer late.
func accepted(promptTokens int, at, now int64) func(*models.WindowRow) {
	return func(w *models.WindowRow) {
		if promptTokens <= w.AcceptedTokens || w.OverflowAt > 0 && !IsLater(at, w.OverflowAt, now) {
			return
		}
		w.AcceptedTokens, w.AcceptedAt = promptTokens, min(at, now)
		if promptTokens > w.OverflowTokens {
			w.OverflowTokens, w.OverflowAt = 0, 0
		}
	}
}

// IsLater reports whether time a is after time b. The clock may have been set back between them, so IsLater
// also gets the present time, now. If a time lies after now, it was recorded before the clock was set back,
// so it is earlier than any time up to now. For example, an answer dated tomorrow came before a refusal dated
// today.
func IsLater(a, b, now int64) bool {
	if isFuture := b > now; isFuture != (a > now) {
		return isFuture
	}
	return a > b
}
