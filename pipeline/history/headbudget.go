package history

import "math"

const (
	// DefaultHistoryBudget is the history budget in tokens while the model's limit is unknown.
	DefaultHistoryBudget = 60_000
	// DefaultMemoryBudget bounds the memories in the baseline, in tokens.
	DefaultMemoryBudget = 4_000
	// docsShare is the default size of the project's documents, as a share of the history budget. A document may have
	// 256 KiB, which is more than a small window holds.
	docsShare  = 0.5
	deltaShare = 0.25
)

// HistoryBudget returns the size in tokens that the history may have in the baseline: a share (0..1) of the window
// below the threshold (in percent). The limit must be the model's, because right after a restart no last prompt is
// known. Without limit or share, the result is 0.
func HistoryBudget(limit int, threshold, share float64) int {
	if limit <= 0 || !(threshold > 0) || !(share > 0) {
		return 0
	}
	return int(math.Floor(float64(limit) * threshold / 100 * share))
}

func deltaBudget(budget int) int { return max(1, int(deltaShare*float64(budget))) }
