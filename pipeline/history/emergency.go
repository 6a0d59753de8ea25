package history

// The levels of usage, in percent of the limit, at which history gets more urgent. Like
// pipeline.ForcePercent and pipeline.EmergencyPercent, they are fixed.
const (
	// ForceUsage: the historian runs even inside the live turn, and may take more.
	ForceUsage = 80
	// MaterialiseUsage: a pass shows published history at once, even in the middle of a
	// turn.
	MaterialiseUsage = 85
	// CalmUsage: below it, the failures of the historian are forgotten.
	CalmUsage = 90
	// EmergencyUsage: the next request may not fit, so the pass waits for the historian.
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

// maxNoHead is the number of passes in an emergency without anything to summarise after
// which a recovery gives up.
const maxNoHead = 2

// A Recovery is the state of a session whose prompt was refused as too long. Its zero
// value is a session in order.
type Recovery struct {
	// Armed says that the prompt was refused and no compartment has been published since.
	Armed bool
	// NoHead counts the passes under pressure that found nothing to summarise.
	NoHead int
	// Notified says that the user was told that nothing can be summarised.
	Notified bool
}

// Refused returns the state after a refused prompt.
func (r Recovery) Refused() Recovery {
	r.Armed = true
	return r
}

// Published returns the state after a publish, a finished recomp or a change of the
// model. Each of them makes the refusal history.
func (Recovery) Published() Recovery { return Recovery{} }

// NothingToSummarise returns the state after a pass that could not begin a run because
// nothing was eligible. Without pressure, the recovery is over: the prompt fits.
func (r Recovery) NothingToSummarise(usage float64) Recovery {
	if usage < ForceUsage {
		return Recovery{}
	}
	r.NoHead++
	return r
}

// Calm returns the state at a pass with this usage. Without pressure and without a
// refused prompt, the count begins anew.
func (r Recovery) Calm(usage float64) Recovery {
	if usage < ForceUsage && !r.Armed {
		return Recovery{}
	}
	return r
}

// GaveUp reports whether the recovery has found nothing to summarise so often that it no
// longer treats the session as an emergency. Otherwise a session that is all tail would
// be in an emergency for ever.
func (r Recovery) GaveUp() bool { return r.NoHead >= maxNoHead }

// Usage returns the usage by which the historian acts. After a refused prompt that is an
// emergency, whatever was measured.
func (r Recovery) Usage(measured float64) float64 {
	if r.Armed && !r.GaveUp() {
		return max(measured, EmergencyUsage)
	}
	return measured
}

// Notice reports whether the user has to be told that nothing can be summarised, once
// for each refusal.
func (r Recovery) Notice() (Recovery, bool) {
	if !r.Armed || !r.GaveUp() || r.Notified {
		return r, false
	}
	r.Notified = true
	return r, true
}

// An Urgency says how a pass treats the historian.
type Urgency uint8

const (
	// InBackground: a run is started if the trigger fires, and no pass waits for it.
	InBackground Urgency = iota
	// ShowAtOnce: as InBackground, and published history goes onto the wire at once.
	ShowAtOnce
	// Await: as ShowAtOnce, and the pass waits for the run, up to its deadline.
	Await
	// Refuse: the run has failed before and the prompt will not fit. The pass ends the
	// request, tells the user once for each failure, and starts a run without waiting.
	Refuse
)

// UrgencyOf returns how a pass treats the historian, at a usage by which the historian
// acts (Recovery.Usage) and after a number of failed runs. A subagent has no historian:
// its pass only drops.
func UrgencyOf(usage float64, failures int, r Recovery) Urgency {
	switch {
	case usage >= EmergencyUsage && failures > 0 && !r.GaveUp():
		return Refuse
	case usage >= EmergencyUsage:
		return Await
	case usage >= MaterialiseUsage:
		return ShowAtOnce
	}
	return InBackground
}

// KeepsFailures reports whether the failures of earlier runs still count.
func KeepsFailures(usage float64) bool { return usage >= CalmUsage }
