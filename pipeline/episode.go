package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// An Episode is the stored state of a pressure episode. An episode opens when the
// prompt size reaches the high mark. It ends with the bust that frees space down to
// the low mark. If a bust takes everything that the rules offer and the size stays
// above the high mark, the episode is stuck.
type Episode struct {
	// ReliefOf names the measurement that the last bust was based on. Relief is the
	// number of tokens that busts have freed since that measurement. It is subtracted
	// from the measurement until the provider reports a newer one.
	ReliefOf string
	Relief   int
	// The Stuck fields describe a stuck episode, and are 0 if there is none. StuckTag
	// is the highest tag at its end, StuckGrace the highest tag that the two-pass
	// reclaim could take then, StuckBand the band of pressure. The next attempt waits
	// for a new tag, a moved grace, a higher band or a queued drop.
	StuckTag, StuckGrace, StuckBand int
}

// goal returns the prompt size that the pass wants to reach.
func (s *Session) goal(d Decision, r Readings, limit int) rule.Goal {
	high := int(r.Threshold / 100 * float64(limit))
	g := rule.Goal{
		Current: d.Size.Current, Ceiling: high, Target: min(high, int(r.LowMark/100*float64(limit))),
		// If the provider reports no usage, the host's own count already includes the bust.
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

// inOwnTokens converts the goal for the rules, which count in the host's tokens. For
// example, if 3,000 tokens of the provider must be freed and perToken is 1.5, the
// rules must free 2,000.
func inOwnTokens(g rule.Goal, perToken float64) rule.Goal {
	scale := func(size int) int { return g.Current - int(float64(g.Current-size)/perToken) }
	g.Ceiling, g.Target = scale(g.Ceiling), scale(g.Target)
	return g
}

// occasionOf returns how far a busting pass goes. If the prefix is gone anyway, the
// pass also frees what the next episode would free, provided that the size is more
// than half way from the low mark to the high one.
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

// forcedAt returns the size at which the next bust comes regardless of its cost.
func forcedAt(d Decision, limit int) int {
	if d.Percent >= ForcePercent {
		return limit * EmergencyPercent / 100
	}
	return limit * ForcePercent / 100
}

// minEmergency is the least number of freed tokens that justifies a bust at the
// emergency level. The next step would use up less space than that, so the prefix
// would be sent again for almost nothing. A smaller bust is made only if the prompt
// then falls below the emergency level.
const minEmergency = 2000

// isWorthIt reports whether a bust of a live prefix is worth its cost. A flush by the
// user and a refused prompt are never weighed, and neither is any bust while the price
// is unknown.
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

// isRelief reports whether the bust puts the next episode far off. It does if the size
// gets at least half way from the high mark down to the low one, or a tenth of the
// window below the high mark. The tenth counts because age protects most of the rest.
// docs/decisions.md has the measurements.
func isRelief(d Decision, r Readings, freed, limit int) bool {
	high := int(r.Threshold / 100 * float64(limit))
	return d.Goal > 0 && d.Size.Current-freed <= max((high+d.Goal)/2, high-limit/10)
}

// relief returns the measurement that the bust was based on, and the tokens to
// subtract from it afterwards.
func (s *Session) relief(d Decision, freed int) (measurement string, tokens int) {
	if d.Size.Measured == 0 {
		return "", 0 // the host's own count already includes the bust
	}
	if len(d.Edits) == 0 && freed == 0 {
		return s.Meta.Episode.ReliefOf, s.Meta.Episode.Relief
	}
	if s.Meta.Episode.ReliefOf == d.Size.Measurement {
		freed += s.Meta.Episode.Relief
	}
	return d.Size.Measurement, freed
}

// remember records in the episode whether it is stuck.
func (d *Decision) remember(s *Session, isStuck bool) {
	e := &d.Episode
	e.StuckTag, e.StuckGrace, e.StuckBand = 0, 0, 0
	if isStuck {
		e.StuckTag, e.StuckGrace, e.StuckBand = s.State.TagCounter, s.State.Setup.ReclaimUpTo, band(d.Percent)
	}
}

// isStuck reports whether a pass under pressure would find only what the last one
// found, or would act on the same measurement twice.
func (s *Session) isStuck(d Decision) bool {
	if d.Cause != CausePressure && d.Cause != CauseForce {
		return false
	}
	ep := s.Meta.Episode
	if d.Size.Measured > 0 && ep.ReliefOf == d.Size.Measurement && d.Percent < EmergencyPercent {
		return true // no usage shows yet how much the last bust freed; a second bust would drop the rest of the tail (A29 in docs/defects.md)
	}
	return ep.StuckTag > 0 && ep.StuckTag == s.State.TagCounter && ep.StuckGrace == s.State.Setup.ReclaimUpTo &&
		ep.StuckBand >= band(d.Percent) && len(s.State.Queue()) == 0
}

// band returns the band of pressure: 1 below the force level, 2 from the force level,
// 3 from the emergency level.
func band(percent float64) int {
	switch {
	case percent >= EmergencyPercent:
		return 3
	case percent >= ForcePercent:
		return 2
	}
	return 1
}
