package history_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/pipeline/history"
)

// These vectors come from the reference implementation. They show the last index of each tier and the first of the next
// one, and arguments outside the valid range.
func TestTierOfVectors(t *testing.T) {
	for _, c := range []struct {
		index, importance int
		pressure          float64
		want              int
	}{
		{5, 50, 1, 1},
		{6, 50, 1, 2},
		{18, 50, 1, 2},
		{19, 50, 1, 3},
		{32, 50, 1, 3},
		{33, 50, 1, 4},
		{63, 50, 1, 4},
		{64, 50, 1, 5},
		{-3, 50, 1, 1},
		{10, 0, 1, 4},
		{10, 101, 1, 1},
		{64, 50, 0.05, 2},
		{249, 100, 1, 4},
		{250, 100, 1, 5},
	} {
		if got := history.TierOf(c.index, c.importance, c.pressure); got != c.want {
			t.Errorf("TierOf(%d, %d, %v) = %d, want %d", c.index, c.importance, c.pressure, got, c.want)
		}
	}
}

// For each importance and pressure, the reference gives the first index at tier 2, 3, 4 and in the archive.
func TestFirstIndexOfEachTier(t *testing.T) {
	pressures := []float64{0.1, 0.5, 1, 2, 4}
	for importance, starts := range map[int][5][4]int{
		1:   {{14, 46, 83, 161}, {4, 10, 18, 33}, {3, 6, 10, 17}, {2, 4, 6, 9}, {2, 3, 4, 5}},
		10:  {{17, 59, 106, 206}, {5, 13, 22, 42}, {3, 7, 12, 22}, {2, 4, 7, 12}, {2, 3, 4, 7}},
		25:  {{26, 89, 160, 312}, {6, 19, 33, 64}, {4, 10, 17, 33}, {3, 6, 9, 17}, {2, 4, 5, 9}},
		50:  {{50, 176, 319, 622}, {11, 36, 65, 126}, {6, 19, 33, 64}, {4, 10, 17, 33}, {3, 6, 9, 17}},
		75:  {{98, 351, 636, 1243}, {21, 71, 128, 250}, {11, 36, 65, 126}, {6, 19, 33, 64}, {4, 10, 17, 33}},
		100: {{194, 701, 1271, 2485}, {40, 141, 255, 498}, {21, 71, 128, 250}, {11, 36, 65, 126}, {6, 19, 33, 64}},
	} {
		for i, pressure := range pressures {
			for j, want := range starts[i] {
				tier := j + 2
				got := 1
				for history.TierOf(got, importance, pressure) < tier {
					got++
				}
				if got != want {
					t.Errorf("importance %d, pressure %v: tier %d starts at %d, want %d", importance, pressure, tier, got, want)
				}
			}
		}
	}
}

func TestDecayPressureVectors(t *testing.T) {
	for _, c := range []struct {
		n      int
		budget float64
		want   float64
	}{
		{10, 2000, 1.0775},
		{10, 5000, 0.431},
		{10, 12480, 0.172676},
		{10, 60000, 0.1},
		{50, 2000, 1.9385},
		{50, 5000, 0.7754},
		{50, 12480, 0.310657},
		{50, 60000, 0.1},
		{100, 2000, 2.0685},
		{100, 5000, 0.8274},
		{100, 12480, 0.33149},
		{100, 60000, 0.1},
		{300, 5000, 0.8274},
		{1000, 60000, 0.1},
		{1, 0, 1},
		{1, -1, 1},
		{1, math.NaN(), 1},
	} {
		importances := make([]int, c.n)
		for i := range importances {
			importances[i] = 50
		}
		if got := history.DecayPressure(importances, c.budget); math.Abs(got-c.want) > 5e-7 {
			t.Errorf("%d compartments, budget %v: pressure %v, want %v", c.n, c.budget, got, c.want)
		}
	}
}

func TestDecayIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index := rapid.IntRange(-5, 3000).Draw(t, "index")
		importance := rapid.IntRange(-10, 120).Draw(t, "importance")
		pressure := rapid.Float64Range(0, 10).Draw(t, "pressure")
		tier := history.TierOf(index, importance, pressure)
		if tier < 1 || tier > history.Archived {
			t.Fatalf("tier %d", tier)
		}
		for name, worse := range map[string]int{
			"older":          history.TierOf(index+rapid.IntRange(0, 500).Draw(t, "age"), importance, pressure),
			"less important": history.TierOf(index, importance-rapid.IntRange(0, 100).Draw(t, "less"), pressure),
			"more pressure":  history.TierOf(index, importance, pressure+rapid.Float64Range(0, 10).Draw(t, "more")),
		} {
			if worse < tier {
				t.Errorf("%s: tier %d after %d", name, worse, tier)
			}
		}
	})
}
