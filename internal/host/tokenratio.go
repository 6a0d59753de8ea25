package host

import (
	"context"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// This file learns how many tokens a model's provider counts for one token of our count. We count with the
// vocabulary of one provider, and others count the same text differently. docs/tokens.md says how the ratio
// is learned and where it is used.

// A sampling holds the answers whose reported prompts are compared for the next sample.
type sampling struct {
	// from is the key of the older of the two answers. It is empty until there is one.
	from string
	// answered is the newest answer at the last bust. Its prompt is from before that bust,
	// so no comparison may begin with it.
	answered string
}

// learnRatio learns from the newest usage in the array.
func (h *Host) learnRatio(ctx context.Context, s *session) error {
	newest := s.pipe.Measured()
	if newest == "" || newest == s.sampling.answered {
		return nil
	}
	if s.sampling.from == "" {
		s.sampling.from = newest
		return nil
	}
	sample, ok := s.pipe.SampleTokens(s.sampling.from, newest)
	if !ok {
		return nil
	}
	s.sampling.from = newest
	if sample.Ratio == 0 || sample.Model.ID == "" {
		return nil
	}
	return h.noteRatio(ctx, sample)
}

func (h *Host) noteRatio(ctx context.Context, sample pipeline.TokenSample) error {
	writing, cancel := h.writing(ctx)
	defer cancel()
	m, now := sample.Model, h.Clock.Now()
	known := func() store.TokenRatioRow { return h.ratioRow(writing, m) }
	next := func(r store.TokenRatioRow) store.TokenRatioRow { return learned(r, float64(sample.Ratio), now) }
	return h.ratios.change(m, known, next, func(before, after store.TokenRatioRow) error {
		h.Log.Debug("token ratio learned", "provider", m.Provider, "model", m.ID, "ratio", after.Ratio, "before", before.Ratio, "samples", after.Samples)
		return h.Store.SaveTokenRatio(writing, after)
	})
}

const (
	// leastSamples is how many samples a ratio needs before it is used.
	leastSamples = 3
	// sampleMemory is the number of samples that a ratio remembers. Each new sample moves the ratio by at
	// least 1/16 of the difference, so the ratio follows a provider that changes its vocabulary.
	sampleMemory = 16
	// mostSurprise is how far a sample may lie from a ratio that is in use. 0.25 means 25 % of the ratio. A
	// sample that lies further away is moved to this limit, because it may be wrong.
	mostSurprise = 0.25
)

// learned returns the ratio after one more sample.
func learned(r store.TokenRatioRow, sample float64, now int64) store.TokenRatioRow {
	if r.Samples >= leastSamples {
		sample = min(max(r.Ratio*(1-mostSurprise), sample), r.Ratio*(1+mostSurprise))
	}
	r.Samples++
	r.Ratio += (sample - r.Ratio) / float64(min(r.Samples, sampleMemory))
	r.At = now
	return r
}

// tokenRatio returns the learned ratio of a model, or 0 while there are too few samples.
func (h *Host) tokenRatio(ctx context.Context, m schema.Model) pipeline.TokenRatio {
	if m.ID == "" {
		return 0
	}
	r := h.ratioRow(ctx, m)
	if r.Samples < leastSamples {
		return 0
	}
	return pipeline.TokenRatio(r.Ratio)
}

func (h *Host) ratioRow(ctx context.Context, m schema.Model) store.TokenRatioRow {
	row, err := h.ratios.of(m, func() (store.TokenRatioRow, error) {
		r, _, err := h.Store.TokenRatio(ctx, m.Provider, m.ID)
		r.Provider, r.Model = m.Provider, m.ID
		return r, err
	})
	if err != nil {
		h.Log.Warn("token ratio of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return store.TokenRatioRow{Provider: m.Provider, Model: m.ID}
	}
	return row
}

// counting returns the token ratios with which the pass estimates sizes.
func (ps *pass) counting(ctx context.Context) pipeline.Counting {
	pipe := ps.s.pipe
	return pipeline.Counting{Model: ps.h.tokenRatio(ctx, pipe.Model()), Measured: ps.h.tokenRatio(ctx, pipe.MeasuredBy())}
}
