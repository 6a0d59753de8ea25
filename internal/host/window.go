package host

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A window is what is believed of a model's prompt limit, and since when on
// whose word.
type window struct {
	// Tokens is 0 where nobody knows: then pressure is measured against
	// pipeline.DefaultLimitTokens, and budgets against nothing.
	Tokens int
	Source schema.LimitSource
	// At is Unix ms, 0 for the default.
	At int64
}

// believe weighs what the catalogue says against what use has shown. A proven
// overflow lowers the catalogue's limit, never raises it; a prompt that was
// accepted outweighs either limit that it is larger than.
func believe(catalogue schema.ModelLimits, catalogueAt int64, use store.WindowRow) window {
	w := window{Source: schema.LimitDefault}
	if n := promptLimit(catalogue); n > 0 {
		w = window{n, schema.LimitCatalogue, catalogueAt}
	}
	refused := use.OverflowTokens > 0 && use.OverflowTokens >= use.AcceptedTokens
	if refused && (w.Tokens == 0 || use.OverflowTokens < w.Tokens) {
		return window{use.OverflowTokens, schema.LimitOverflow, use.OverflowAt}
	}
	doubted := w.Tokens
	if doubted == 0 {
		doubted = pipeline.DefaultLimitTokens
	}
	if use.AcceptedTokens > doubted && use.AcceptedTokens <= maxPromptLimit {
		return window{use.AcceptedTokens, schema.LimitUsage, use.AcceptedAt}
	}
	return w
}

// window returns what is believed of a model whose limits by the catalogue the
// caller has at hand.
func (h *Host) window(ctx context.Context, m schema.Model, catalogue schema.ModelLimits) window {
	return believe(catalogue, 0, h.use(ctx, m))
}

// knownWindow is window by what is stored: it does not ask the harness.
func (h *Host) knownWindow(ctx context.Context, m schema.Model) window {
	row, _, err := h.Store.Limits(ctx, m.Provider, m.ID)
	if err != nil {
		h.Log.Warn("limits of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
	}
	return believe(limitsFromRow(row), row.At, h.use(ctx, m))
}

// uses is what use has shown of the models of this process, as the store has
// it. This host is its only writer.
type uses struct {
	// learning keeps changes in order, across their writes.
	learning sync.Mutex
	mu       sync.Mutex
	known    map[schema.Model]store.WindowRow
}

// use returns what use has shown of a model. A store that does not answer is
// asked again the next time.
func (h *Host) use(ctx context.Context, m schema.Model) store.WindowRow {
	h.uses.mu.Lock()
	row, ok := h.uses.known[m]
	h.uses.mu.Unlock()
	if ok {
		return row
	}
	row, err := h.Store.Window(ctx, m.Provider, m.ID)
	if err != nil {
		h.Log.Warn("window of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return store.WindowRow{Provider: m.Provider, Model: m.ID}
	}
	h.uses.mu.Lock()
	defer h.uses.mu.Unlock()
	if newer, ok := h.uses.known[m]; ok {
		return newer // learned while we read
	}
	h.uses.known[m] = row
	return row
}

// learn changes what use has shown of a model. It holds from now on, also if
// the store does not take it.
func (h *Host) learn(ctx context.Context, m schema.Model, change func(*store.WindowRow)) error {
	if m.ID == "" {
		return nil
	}
	h.uses.learning.Lock()
	defer h.uses.learning.Unlock()
	before := h.use(ctx, m)
	row := before
	change(&row)
	if row == before {
		return nil
	}
	h.uses.mu.Lock()
	h.uses.known[m] = row
	h.uses.mu.Unlock()
	if row.OverflowTokens != before.OverflowTokens {
		h.Log.Info("window learned", "provider", m.Provider, "model", m.ID, "overflowTokens", row.OverflowTokens, "before", before.OverflowTokens)
	}
	return h.Store.SaveWindow(ctx, row)
}

// refused notes a refusal at the time at, with the limit that the provider
// named, 0 if it named none. What was accepted before proves nothing any more:
// the provider, or the account behind it, may have changed.
func refused(limitTokens int, at int64) func(*store.WindowRow) {
	return func(w *store.WindowRow) {
		w.AcceptedTokens, w.AcceptedAt = 0, 0
		if limitTokens > 0 {
			w.OverflowTokens, w.OverflowAt = limitTokens, at
		}
	}
}

// accepted notes a prompt that was answered at the time at. One that is larger
// than the limit of an earlier refusal withdraws that limit; the answer to an
// older prompt, which harnesses may report late, does not.
func accepted(promptTokens int, at int64) func(*store.WindowRow) {
	return func(w *store.WindowRow) {
		if promptTokens <= w.AcceptedTokens || at <= w.OverflowAt {
			return
		}
		w.AcceptedTokens, w.AcceptedAt = promptTokens, at
		if promptTokens > w.OverflowTokens {
			w.OverflowTokens, w.OverflowAt = 0, 0
		}
	}
}
