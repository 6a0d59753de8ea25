package history

// The levels of usage, in percent of the limit, at which history gets more urgent. Like
// pipeline.ForcePercent and pipeline.EmergencyPercent, they are fixed.
const (
	// ForceUsage: the historian runs even inside the live turn, and may take more.
	ForceUsage = 80
	// EmergencyUsage: the next request may not fit. The pass cannot wait for a model, so it
	// publishes an extract.
	EmergencyUsage = 95
	// proactiveRange is the distance below the execute threshold, in percent of the
	// limit, at which a run may begin, so that its result is there when the threshold
	// is reached.
	proactiveRange = 2
)

// A Level is a range of usage. At each level the trigger has different reasons for a run.
type Level uint8

// LevelOf returns the level of a usage: 0 while usage itself is no reason for a run, 1 near
// the execute threshold, 2 from ForceUsage.
func LevelOf(usage, threshold float64) Level {
	switch {
	case usage >= ForceUsage:
		return 2
	case usage >= threshold-proactiveRange:
		return 1
	}
	return 0
}

// Scale returns the factor by which the protected tail shrinks if nothing is eligible
// at its usual size, for example 0.5 at ForceUsage.
func Scale(usage float64) float64 {
	switch {
	case usage >= EmergencyUsage:
		return 0.25
	case usage >= ForceUsage:
		return 0.5
	}
	return 1
}
