package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// An Episode is the stored state of a pressure episode. An episode is stuck if the prompt is still above the high mark
// after a bust has removed everything that the rules may remove.
type Episode struct {
	Relief Relief
	Stuck  Stuck
}

// A Relief is the number of tokens that busts have freed since the provider's newest usage. The host subtracts it until
// a newer usage comes.
type Relief struct {
	// Of names the measurement (Size.Measurement).
	Of     string
	Tokens int
}

// Stuck describes the moment at which an episode got stuck, or is zero. A pass asks the rules again only if one of
// these values changes, if a drop is queued, or if a new compartment waits.
type Stuck struct {
	// Tag was the highest tag. Grace was the highest tag that the two-pass reclaim could drop. Band was the band of
	// pressure.
	Tag, Grace, Band int
}

// covered is the number of leading messages that the head covers.
func (s *Session) goal(a Assessment, r Readings, limit, covered int) rule.Goal {
	high := int(r.Threshold / 100 * float64(limit))
	g := rule.Goal{
		Current: a.Size.Current, Ceiling: high, Target: min(high, int(r.LowMark/100*float64(limit))),
		// Without any usage, the host counts each prompt itself, so the size already excludes what the last bust
		// dropped.
		Measured: a.Size.Measured == 0 || s.Meta.Episode.Relief.Of != a.Size.Measurement || a.Percent >= EmergencyPercent,
	}
	if r.LowMark <= 0 {
		price := r.Price
		if price.Read <= 0 || price.Write <= 0 {
			price = TypicalPrice
		}
		units := 0
		for i := covered; i < len(s.entries); i++ {
			units += s.tokensOf(&s.entries[i])
		}
		g.Target = marks{
			high: high, floor: s.floor(a.Size.Current, covered, r.Knobs), prefix: max(0, a.Size.Current-units),
			growth: s.Growth(), price: price,
		}.low()
	}
	return g
}

// inOwnTokens converts the sizes of the goal from provider tokens to the host's tokens, in which the rules count.
func inOwnTokens(g rule.Goal, perToken float64) rule.Goal {
	scale := func(size int) int { return g.Current - int(float64(g.Current-size)/perToken) }
	g.Ceiling, g.Target = scale(g.Ceiling), scale(g.Target)
	if g.Fit != 0 {
		g.Fit = scale(g.Fit)
	}
	return g
}

// occasionOf returns Pressure already below the high mark if the verdict is hard. The prefix is gone anyway, so this
// bust also frees the space for which the next episode would need another bust.
func occasionOf(a Assessment, g rule.Goal) rule.Occasion {
	switch {
	case a.Percent >= EmergencyPercent:
		return rule.Emergency
	case a.Percent >= ForcePercent:
		return rule.Force
	case a.Size.Current >= g.Ceiling, a.Verdict == schema.Hard && a.Size.Current > (g.Ceiling+g.Target)/2:
		return rule.Pressure
	}
	return rule.AnyBust
}

// forcedAt returns the size of the prompt at which the next bust would come whatever it costs. For a bust for rent,
// this is the high mark, and otherwise the next level: 85 % or 95 %.
func forcedAt(a Assessment, r Readings, limit int) int {
	if a.Cause == CauseRent {
		return int(r.Threshold / 100 * float64(limit))
	}
	if a.Percent >= ForcePercent {
		return limit * EmergencyPercent / 100
	}
	return limit * ForcePercent / 100
}

// minEmergency is the number of tokens that a bust in an emergency must free, because the next step would use up less
// at once. A bust that frees less is made only if it brings the prompt below the emergency level.
const minEmergency = 2000

// After a flush or a refused prompt, or while the price is unknown, every bust of a live prefix is worth its cost.
func isWorthIt(a Assessment, r Readings, freed, limit int) bool {
	switch {
	case a.Cause == CauseFlush || a.Cause == CauseOverflow || r.Price.Read <= 0:
		return true
	case a.Percent >= EmergencyPercent:
		return freed >= minEmergency || (a.Size.Current-freed)*100 < limit*EmergencyPercent
	case a.Percent >= ForcePercent && isRelief(a, r, freed, limit):
		return true
	}
	return a.Price.PaysOff()
}

// isRelief reports whether the bust delays the next episode for long. The prompt must shrink to half way between the
// high mark and the low mark, or to a tenth of the window below the high mark. The tenth is enough because most of the
// remaining content is too new to be removed. docs/decisions.md has the measurements.
func isRelief(a Assessment, r Readings, freed, limit int) bool {
	high := int(r.Threshold / 100 * float64(limit))
	return a.Goal > 0 && a.Size.Current-freed <= max((high+a.Goal)/2, high-limit/10)
}

func (s *content) freedUpTo(n int, p rule.Proposal) int {
	freed := 0
	for i, e := range p.Edits {
		if u := s.State.ByTag(e.Tag); u != nil {
			if at, ok := s.index[u.MessageKey]; ok && at < n {
				freed += p.Reasons[i].Freed
			}
		}
	}
	return freed
}

// reliefAfter returns the relief after a bust, or nil if it does not change. freed is the number of tokens that the
// bust frees in the measured prompt, and edits is the number of its edits.
func (s *Session) reliefAfter(size Size, freed, edits int) *Relief {
	before := s.Meta.Episode.Relief
	switch {
	case size.Measured == 0:
		return &Relief{} // the host's own count already includes the bust
	case edits == 0 && freed == 0:
		return nil
	case before.Of == size.Measurement:
		freed += before.Tokens
	}
	return &Relief{Of: size.Measurement, Tokens: freed}
}

func (s *Session) stuckIf(isStuck bool, percent float64) Stuck {
	if !isStuck {
		return Stuck{}
	}
	return Stuck{Tag: s.State.TagCounter, Grace: s.Meta.ReclaimUpTo, Band: band(percent)}
}

// isStuck reports whether a pass under pressure has to wait. It waits if nothing has changed since the episode got
// stuck, or if no usage has come since the last bust. hasNews means that some compartments are not yet in the head.
func (s *Session) isStuck(a Assessment, hasNews bool) bool {
	if a.Cause != CausePressure && a.Cause != CauseForce {
		return false
	}
	if relief := s.Meta.Episode.Relief; a.Size.Measured > 0 && relief.Of == a.Size.Measurement && a.Percent < EmergencyPercent {
		return true // no usage shows yet how much the last bust freed; a second bust could drop the whole tail (A29 in docs/defects.md)
	}
	stuck := s.Meta.Episode.Stuck
	return !hasNews && stuck.Tag > 0 && stuck.Tag == s.State.TagCounter && stuck.Grace == s.Meta.ReclaimUpTo &&
		stuck.Band >= band(a.Percent) && len(s.State.Queue()) == 0
}

func band(percent float64) int {
	switch {
	case percent >= EmergencyPercent:
		return 3
	case percent >= ForcePercent:
		return 2
	}
	return 1
}
