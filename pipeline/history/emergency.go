package history

// The levels of usage, in percent of the limit. Like pipeline.ForcePercent and pipeline.EmergencyPercent, they are
// fixed.
const (
	// ForceUsage: the historian runs even inside the live turn, and may read more in one run.
	ForceUsage = 80
	// EmergencyUsage: the next request may not fit. The pass cannot wait for a model, so it publishes an extract.
	EmergencyUsage = 95
	// A run may begin proactiveRange percent of the limit below the threshold, so that its result is ready at the
	// threshold.
	proactiveRange = 2
)

// A Level is a range of usage. Each level has other reasons for a run.
type Level uint8

// LevelOf returns 0 if usage is no reason for a run, 1 near the execute threshold, 2 from ForceUsage on.
func LevelOf(usage, threshold float64) Level {
	switch {
	case usage >= ForceUsage:
		return 2
	case usage >= threshold-proactiveRange:
		return 1
	}
	return 0
}

// Scale returns the factor by which the protected tail shrinks if nothing is eligible, for example 0.5 at ForceUsage.
func Scale(usage float64) float64 {
	switch {
	case usage >= EmergencyUsage:
		return 0.25
	case usage >= ForceUsage:
		return 0.5
	}
	return 1
}
