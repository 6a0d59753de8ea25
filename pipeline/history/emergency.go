package history

// These levels of usage are in percent of the limit. No setting changes them.
const (
	// ForceUsage: from this level on, the historian also summarises messages of the current turn, and one run may read
	// more messages.
	ForceUsage = 80
	// EmergencyUsage: the next request may not fit into the window. There is no time to ask a model, so the pass
	// publishes an extractive compartment.
	EmergencyUsage = 95
	// A run may begin proactiveRange percent below the threshold, so that its summary is ready at the threshold.
	proactiveRange = 2
)

// A Level says how close usage is to the limit. It decides which reasons for a run apply.
type Level uint8

// LevelOf returns 0 if usage is no reason for a run, 1 near or above the execute threshold, and 2 from ForceUsage on.
func LevelOf(usage, threshold float64) Level {
	switch {
	case usage >= ForceUsage:
		return 2
	case usage >= threshold-proactiveRange:
		return 1
	}
	return 0
}

// Scale returns the factor by which the historian shrinks the protected tail if it finds no message that it may
// summarise.
func Scale(usage float64) float64 {
	switch {
	case usage >= EmergencyUsage:
		return 0.25
	case usage >= ForceUsage:
		return 0.5
	}
	return 1
}
