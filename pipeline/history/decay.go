package history

import "math"

// Archived is the tier of a compartment that the head does not render. Tier 1 has most detail.
const Archived = 5

const (
	// The pressure is never below minPressure. If it were, the compartments of a short session would stay in tier 1 for
	// a long time, and would then lose many tiers at one fold.
	minPressure = 0.10
	// The age of a compartment is the number of newer compartments, and its detail decays with its age. At importance
	// 50 and pressure 1, the half-life is halfLife compartments. It doubles with every importancePerDoubled points of
	// importance.
	halfLife             = 24
	importancePerDoubled = 25
	middleImportance     = 50
	maxImportance        = 100
)

// The ages are in half-lives. docs/history.md has the resulting ages.
var tierEnds = [Archived - 1]float64{0.201, 0.729, 1.322, 2.587}

// tierCosts has the average size of a compartment at each tier, in tokens.
var tierCosts = [Archived]int{322, 109, 35, 20, 0}

// TierOf returns the tier of a compartment, 1 to Archived. The newest compartment has the index 1. `importance` is 1 to
// 100.
func TierOf(index, importance int, pressure float64) int {
	age := float64(max(index, 1) - 1)
	importance = min(max(importance, 1), maxImportance)
	doublings := float64(importance-middleImportance) / importancePerDoubled
	halfLives := age / (halfLife * math.Exp2(doublings) / max(pressure, minPressure))
	for i, end := range tierEnds {
		if halfLives < end {
			return i + 1
		}
	}
	return Archived
}

// DecayPressure returns the pressure at which all compartments together are about as large as the budget, but at least
// minPressure. `budget` is in tokens. `importances` contains the importance of each compartment, newest first. Without
// a budget, the pressure is 1.
func DecayPressure(importances []int, budget float64) float64 {
	if !(budget > 0) { // !(>) is true for NaN
		return 1
	}
	cost := 0
	for i, importance := range importances {
		cost += tierCosts[TierOf(i+1, importance, 1)-1]
	}
	return max(minPressure, float64(cost)/budget)
}
