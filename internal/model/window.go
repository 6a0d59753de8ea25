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
	// Tokens is 0 if the limit is unknown. The pressure is then relative to pipeline.DefaultLimitTokens, and the
	// history has no token budget.
	Tokens int
	Source schema.LimitSource
	// At is in Unix milliseconds, and 0 for the catalogue and the default.
	At int64
}

// Limit returns the limit that a pass assumes.
func (w Window) Limit() int {
	if w.Tokens > 0 {
		return w.Tokens
	}
	return pipeline.DefaultLimitTokens
}

// believe chooses the window from the catalogue's limit and from what the provider has refused and accepted. A refusal
// can lower the catalogue's limit, but never raise it. If the provider has accepted a prompt that is larger than the
// limit, the size of this prompt becomes the limit.
func believe(catalogue int, use models.WindowRow) Window {
	w := Window{Source: schema.LimitDefault}
	if catalogue > 0 {
		w = Window{Tokens: catalogue, Source: schema.LimitCatalogue}
	}
	refused := use.OverflowTokens > 0 && use.OverflowTokens >= use.AcceptedTokens
	if refused && (w.Tokens == 0 || use.OverflowTokens < w.Tokens) {
		return Window{use.OverflowTokens, schema.LimitOverflow, use.OverflowAt}
	}
	if use.AcceptedTokens > w.Limit() && use.AcceptedTokens <= maxPromptLimit {
		return Window{use.AcceptedTokens, schema.LimitUsage, use.AcceptedAt}
	}
	return w
}

// Window returns the window of a model. `catalogue` is the prompt limit in the catalogue of the session's harness, or 0
// if it is unknown.
func (ms *Models) Window(ctx context.Context, m schema.Model, catalogue int) Window {
	return believe(catalogue, ms.use(ctx, m))
}

func (ms *Models) use(ctx context.Context, m schema.Model) models.WindowRow {
	row, err := ms.uses.of(m, func() (models.WindowRow, error) { return ms.Store.Models.Window(ctx, m.Provider, m.ID) })
	if err != nil {
		ms.Log.Warn("window of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return models.WindowRow{Provider: m.Provider, Model: m.ID}
	}
	return row
}

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

// NoteRefusal records that the provider has refused a prompt as too long. limitTokens is the limit that the refusal
// names, or 0 if it names none.
func (ms *Models) NoteRefusal(ctx context.Context, m schema.Model, limitTokens int, at int64) error {
	return ms.learn(ctx, m, refused(limitTokens, at))
}

// NoteAccepted records the size of a prompt that the provider has answered. The answer proves that a prompt of this
// size fits.
func (ms *Models) NoteAccepted(ctx context.Context, m schema.Model, promptTokens int, at, now int64) error {
	return ms.learn(ctx, m, accepted(promptTokens, at, now))
}

// The function `refused` records a refusal; limitTokens is the same as in NoteRefusal. It also forgets the accepted
// prompts, because the provider or the user's account may have changed since then.
func refused(limitTokens int, at int64) func(*models.WindowRow) {
	return func(w *models.WindowRow) {
		w.AcceptedTokens, w.AcceptedAt = 0, 0
		if limitTokens > 0 {
			w.OverflowTokens, w.OverflowAt = limitTokens, at
		}
	}
}

// The function `accepted` records a prompt that the provider has answered. If the prompt is larger than the limit of an
// earlier refusal, the function removes this limit. Harnesses may report an answer late, so a prompt that is older than
// the refusal is ignored.
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

// IsLater reports whether time a is after time b. A time that lies in the future was recorded before the clock was set
// back. So it counts as earlier than any time up to now. For example, an answer dated tomorrow came before a refusal
// dated today.
func IsLater(a, b, now int64) bool {
	if isFuture := b > now; isFuture != (a > now) {
		return isFuture
	}
	return a > b
}
