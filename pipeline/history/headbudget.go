package history

import "math"

const (
	// DefaultHistoryBudget is the history budget in tokens while the model's limit is unknown.
	DefaultHistoryBudget = 60_000
	// DefaultMemoryBudget limits the memories in the baseline, in tokens.
	DefaultMemoryBudget = 4_000
	// docsShare limits the project's documents to a share of the history budget. A document may have 256 KiB, which
	// would not fit into a small window.
	docsShare  = 0.5
	deltaShare = 0.25
)

// HistoryBudget returns how many tokens the history in the baseline may have. This is `share` (0 to 1) of the part of
// the window below `threshold` (in percent). `limit` is the model's prompt limit. If `limit` or `share` is 0, the
// result is 0. The result must not depend on the size of the last prompt, which is unknown after a restart.
func HistoryBudget(limit int, threshold, share float64) int {
	if limit <= 0 || !(threshold > 0) || !(share > 0) {
		return 0
	}
	return int(math.Floor(float64(limit) * threshold / 100 * share))
}

func deltaBudget(budget int) int { return max(1, int(deltaShare*float64(budget))) }
