package model

import (
	"context"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// We count with the vocabulary of one provider, and others count the same text differently. docs/tokens.md says how
// the host learns a model's ratio, and where it uses the ratio.

func (ms *Models) LearnRatio(ctx context.Context, sample pipeline.TokenSample) error {
	writing, cancel := ms.Guard.Writing(ctx)
	defer cancel()
	m, now := sample.Model, ms.Clock.Now()
	known := func() models.TokenRatioRow { return ms.ratioRow(writing, m) }
	next := func(r models.TokenRatioRow) models.TokenRatioRow { return learned(r, float64(sample.Ratio), now) }
	return ms.ratios.change(m, known, next, func(before, after models.TokenRatioRow) error {
		ms.Log.Debug("token ratio learned", "provider", m.Provider, "model", m.ID, "ratio", after.Ratio, "before", before.Ratio, "samples", after.Samples)
		return ms.Store.Models.SaveTokenRatio(writing, after)
	})
}

const (
	leastSamples = 3
	// Each new sample moves the ratio by at least 1/16 of the difference, so the ratio follows a provider that
	// changes its vocabulary.
	sampleMemory = 16
	// If a sample differs by more than mostSurprise (25 %) from a trusted ratio, it may be wrong. Its difference is
	// then reduced to 25 %.
	mostSurprise = 0.25
)

func learned(r models.TokenRatioRow, sample float64, now int64) models.TokenRatioRow {
	if r.Samples >= leastSamples {
		sample = min(max(r.Ratio*(1-mostSurprise), sample), r.Ratio*(1+mostSurprise))
	}
	r.Samples++
	r.Ratio += (sample - r.Ratio) / float64(min(r.Samples, sampleMemory))
	r.At = now
	return r
}

// TokenRatio returns 0 while there are too few samples.
func (ms *Models) TokenRatio(ctx context.Context, m schema.Model) pipeline.TokenRatio {
	if m.ID == "" {
		return 0
	}
	r := ms.ratioRow(ctx, m)
	if r.Samples < leastSamples {
		return 0
	}
	return pipeline.TokenRatio(r.Ratio)
}

func (ms *Models) ratioRow(ctx context.Context, m schema.Model) models.TokenRatioRow {
	row, err := ms.ratios.of(m, func() (models.TokenRatioRow, error) {
		r, _, err := ms.Store.Models.TokenRatio(ctx, m.Provider, m.ID)
		r.Provider, r.Model = m.Provider, m.ID
		return r, err
	})
	if err != nil {
		ms.Log.Warn("token ratio of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return models.TokenRatioRow{Provider: m.Provider, Model: m.ID}
	}
	return row
}
