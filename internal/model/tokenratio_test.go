package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/store/models"
)

// A learned ratio stays between the smallest and the largest sample. One sample hardly changes a trusted ratio.
func TestLearnedRatioIsRobust(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(0.5, 2), 1, 60).Draw(rt, "samples")
		var r models.TokenRatioRow
		for i, s := range samples {
			before := r.Ratio
			r = learned(r, s, int64(i))
			if r.Ratio < 0.5 || r.Ratio > 2 || r.Samples != i+1 || r.At != int64(i) {
				rt.Fatalf("after sample %v: %+v", s, r)
			}
			if limit := before * mostSurprise / float64(min(i+1, sampleMemory)); i >= leastSamples && math.Abs(r.Ratio-before) > limit+1e-9 {
				rt.Fatalf("sample %v moved %v to %v", s, before, r.Ratio)
			}
		}
		for range 300 {
			r = learned(r, 1.3, 0)
		}
		if math.Abs(r.Ratio-1.3) > 0.01 {
			rt.Fatalf("ratio %v of a provider that counts 1.3", r.Ratio)
		}
	})
}
