package history

// The levels of usage, in percent of the limit, at which history gets more urgent. Like
// pipeline.ForcePercent and pipeline.EmergencyPercent, they are fixed.
const (
	// ForceUsage: the historian runs even inside the live turn, and may take more.
	ForceUsage = 80
	// EmergencyUsage: the next request may not fit. No model can be waited for, so the pass
	// publishes an extract.
	EmergencyUsage = 95
	// proactiveRange is how far below the execute threshold a run may begin, so that
	// its result is there when the threshold is reached.
	proactiveRange = 2
)

// A Level is a range of usage in which the trigger has other reasons.
type Level uint8

// LevelOf returns the level of a usage: 0 as long as only much text is a reason, 1 near the
// execute threshold, 2 from ForceUsage.
func LevelOf(usage, threshold float64) Level {
	switch {
	case usage >= ForceUsage:
		return 2
	case usage >= threshold-proactiveRange:
		return 1
	}
	return 0
}

// Scale returns the part of the protected tail's usual size that is left to it if
// nothing is eligible with the usual size.
func Scale(usage float64) float64 {
	switch {
	case usage >= EmergencyUsage:
		return 0.25
	case usage >= ForceUsage:
		return 0.5
	}
	return 1
}
