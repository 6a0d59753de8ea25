package history

import (
	"math"

	"github.com/magicctx/magicctx-host/schema"
)

const (
	// If the model's limit is unknown, defaultLimit (in tokens) is used. If the threshold is invalid, defaultThreshold
	// (in percent) is used.
	defaultLimit     = 128_000
	defaultThreshold = 65
)

// TriggerBudget returns how many tokens of messages must wait for a summary before a run of the historian is worth its
// cost. `limit` is the model's prompt limit in tokens, and `threshold` is in percent. The result must not depend on the
// size of the last prompt, because this size is unknown after a restart.
func TriggerBudget(limit int, threshold float64) int {
	const least, most = 5000, 50_000
	if limit <= 0 || math.IsNaN(threshold) {
		return least
	}
	return min(max(least, round(float64(limit)*max(0, threshold)/100*0.05)), most)
}

// ChunkBudget returns the size, in tokens, of the text that one run of the historian reads. historianLimit is the
// prompt limit of the historian's model.
func ChunkBudget(historianLimit int) int {
	const least, most = 8000, 50_000
	if historianLimit <= 0 {
		return least
	}
	return min(max(least, round(float64(historianLimit)*0.25)), most)
}

// HistorianLimit returns the smallest of the limits, because a fallback model reads the same chunk as the first model.
// It ignores a limit of 0, which means that the limit is unknown.
func HistorianLimit(limits ...int) int {
	smallest := 0
	for _, l := range limits {
		if l > 0 && (smallest == 0 || l < smallest) {
			smallest = l
		}
	}
	if smallest == 0 {
		return defaultLimit
	}
	return smallest
}

// WorkingSet returns how many tokens of the newest messages stay verbatim. The number depends on the spending setting,
// but is never larger than the protected tail.
func WorkingSet(spending schema.Spending, limit int, threshold float64) int {
	return min(tailTarget(limit, threshold, 0), allowed(spending).workingSet)
}

// SpendingBudget returns the maximum size, in tokens, of the history in the baseline.
func SpendingBudget(spending schema.Spending) int { return allowed(spending).history }

// PromptSize returns how large a prompt should become at most with this spending setting, in tokens. Reminders to drop
// content treat this size as if it were the window.
func PromptSize(spending schema.Spending) int { return allowed(spending).prompt }

// The sizes are in tokens. docs/decisions.md has the measurements.
type spendingLimits struct{ workingSet, history, prompt int }

func allowed(spending schema.Spending) spendingLimits {
	switch spending {
	case schema.SpendingFrugal:
		return spendingLimits{workingSet: 10_000, history: 6_000, prompt: 40_000}
	case schema.SpendingBalanced:
		return spendingLimits{workingSet: 16_000, history: math.MaxInt, prompt: 64_000}
	}
	return spendingLimits{math.MaxInt, math.MaxInt, math.MaxInt}
}

// RunCost estimates the cost of a run of the historian whose chunk has this many tokens. The unit is the price of one
// token that the session reads from its cache. If the price is unknown, the result is 0.
func RunCost(tokens int, p schema.Price) int {
	if p.Read <= 0 || p.Fresh <= 0 {
		return 0
	}
	reads, writes := float64(runReads+tokens), runWrites+tokens/4
	return int((reads*p.Fresh + float64(writes)*p.Output) / p.Read)
}

// runReads is the size of a run's instructions, examples and references, in tokens. An answer is estimated at runWrites
// tokens, plus one token for every four tokens of the chunk.
const runReads, runWrites = 5000, 500

func usable(limit int, threshold float64) int {
	if limit <= 0 {
		limit = defaultLimit
	}
	if !(threshold > 0) || threshold > 100 {
		threshold = defaultThreshold
	}
	return max(1, round(float64(limit)*threshold/100))
}

// tailTarget returns the size, in tokens, that the protected tail should have. The size shrinks as the usage, in
// percent, grows.
func tailTarget(limit int, threshold, usage float64) int {
	room := usable(limit, threshold)
	share := func(part float64) float64 { return float64(room) * part }
	usage = min(max(0, usage), 100)

	reserve := max(1000, round(share(0.02)))
	least := min(12_000, max(2000, round(share(0.08))))
	headroom := min(TriggerBudget(limit, threshold)+reserve, int(share(0.5)))
	most := max(1, min(96_000, int(share(0.40)), room-headroom))
	return min(most, max(min(least, most), round(share(0.30)*(1-usage/100))))
}

// The cap in tokens grows with the usage in percent.
func runCap(room, tail int, usage float64) int {
	part := func(share float64, most int) int { return min(round(float64(room)*share), most) }
	switch {
	case usage >= EmergencyUsage:
		return min(750_000, max(4*tail, part(0.5, 250_000)))
	case usage >= ForceUsage:
		return min(500_000, max(3*tail, part(0.35, 150_000)))
	}
	return min(250_000, max(2*tail, part(0.25, 100_000)))
}

func round(x float64) int { return int(math.Floor(x + 0.5)) }
