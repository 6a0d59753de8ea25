package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// An Episode is what is remembered of a time of pressure, across restarts. It
// opens when pressure reaches the high-water mark and ends with the bust that
// frees down to the low one, or takes all there is and stays above: then it is
// stuck.
type Episode struct {
	// ReliefOf is the measurement that the last bust went by, Relief the tokens
	// that busts have freed of it since. They correct the measurement until there
	// is a newer one.
	ReliefOf string
	Relief   int
	// StuckTag is the highest tag there was when an episode ended above the
	// high-water mark, StuckGrace what the two-pass reclaim could take then,
	// StuckBand the band of pressure; all 0 for none. It is tried again with a
	// new tag, a moved grace, a higher band, or as long as a drop is queued.
	StuckTag, StuckGrace, StuckBand int
}

// goal is what the pass wants to get down to.
func (s *Session) goal(d Decision, r Readings, limit int) rule.Goal {
	high := int(r.Threshold / 100 * float64(limit))
	g := rule.Goal{
		Current: d.Size.Current, Ceiling: high, Target: min(high, int(r.LowMark/100*float64(limit))),
		// Where the provider reports nothing, the host's own count has seen the bust.
		Measured: d.Size.Measured == 0 || s.Meta.Episode.ReliefOf != d.Size.Measurement || d.Percent >= EmergencyPercent,
	}
	if r.LowMark <= 0 {
		price := r.Price
		if price.Read <= 0 || price.Write <= 0 {
			price = TypicalPrice
		}
		units := 0
		for i := range s.entries {
			units += s.tokensOf(&s.entries[i])
		}
		g.Target = marks{
			high: high, floor: s.floor(d.Size.Current, r.Knobs), prefix: max(0, d.Size.Current-units),
			growth: s.growth(), price: price,
		}.low()
	}
	return g
}

// occasionOf returns which rules a busting pass asks. A prefix that is gone
// anyway is the time to free what the next episode would: half way up to it is
// near enough.
func occasionOf(d Decision, g rule.Goal) rule.Occasion {
	switch {
	case d.Percent >= EmergencyPercent:
		return rule.Emergency
	case d.Percent >= ForcePercent:
		return rule.Force
	case d.Size.Current >= g.Ceiling, d.Verdict == schema.Hard && d.Size.Current > (g.Ceiling+g.Target)/2:
		return rule.Pressure
	}
	return rule.AnyBust
}

// forcedAt is the size at which the next bust comes whatever it costs.
func forcedAt(d Decision, limit int) int {
	if d.Percent >= ForcePercent {
		return limit * EmergencyPercent / 100
	}
	return limit * ForcePercent / 100
}

// minEmergency is the tokens below which not even a nearly full window is worth
// a bust (spec transform §16), unless the prompt then fits again.
const minEmergency = 2000

// isWorthIt weighs a bust of a live prefix (design §9). What the user asked for
// is not weighed, nor is anything where nobody knows a price.
func isWorthIt(d Decision, r Readings, freed, limit int) bool {
	switch {
	case d.Cause == CauseFlush || d.Cause == CauseOverflow || r.Price.Read <= 0:
		return true
	case d.Percent >= EmergencyPercent:
		return freed >= minEmergency || (d.Size.Current-freed)*100 < limit*EmergencyPercent
	case d.Percent >= ForcePercent && isRelief(d, r, freed, limit):
		return true
	}
	return d.Price.PaysOff()
}

// isRelief reports whether the next episode is far after a bust: it gets half way
// from the high-water mark to the low one, or leaves a tenth of the window below
// the high one, where what age protects is most of what is left.
func isRelief(d Decision, r Readings, freed, limit int) bool {
	high := int(r.Threshold / 100 * float64(limit))
	return d.Goal > 0 && d.Size.Current-freed <= max((high+d.Goal)/2, high-limit/10)
}

// relief is what a bust that frees tokens leaves to be taken off the last
// measurement.
func (s *Session) relief(d Decision, freed int) (measurement string, tokens int) {
	if d.Size.Measured == 0 {
		return "", 0 // the host's own count knows of the bust
	}
	if len(d.Edits) == 0 {
		return s.Meta.Episode.ReliefOf, s.Meta.Episode.Relief
	}
	if s.Meta.Episode.ReliefOf == d.Size.Measurement {
		freed += s.Meta.Episode.Relief
	}
	return d.Size.Measurement, freed
}

// remember notes whether the episode ended above the high-water mark.
func (d *Decision) remember(s *Session, isStuck bool) {
	e := &d.Episode
	e.StuckTag, e.StuckGrace, e.StuckBand = 0, 0, 0
	if isStuck {
		e.StuckTag, e.StuckGrace, e.StuckBand = s.State.TagCounter, s.State.Setup.ReclaimUpTo, band(d.Percent)
	}
}

// isStuck reports whether a pass under pressure would only find what the last
// one found, or would act on the same measurement twice.
func (s *Session) isStuck(d Decision) bool {
	if d.Cause != CausePressure && d.Cause != CauseForce {
		return false
	}
	ep := s.Meta.Episode
	if d.Size.Measured > 0 && ep.ReliefOf == d.Size.Measurement && d.Percent < EmergencyPercent {
		return true // nobody has measured yet what the last bust has brought (A29)
	}
	return ep.StuckTag > 0 && ep.StuckTag == s.State.TagCounter && ep.StuckGrace == s.State.Setup.ReclaimUpTo &&
		ep.StuckBand >= band(d.Percent) && len(s.State.Queue()) == 0
}

// band is the band of pressure: below the force level, at it, at the emergency
// level.
func band(percent float64) int {
	switch {
	case percent >= EmergencyPercent:
		return 3
	case percent >= ForcePercent:
		return 2
	}
	return 1
}
