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

// A Relief is the number of tokens that busts have freed since the provider last reported a usage. That usage does not
// show the busts yet, so the host subtracts the relief from it until a newer usage comes.
type Relief struct {
	// `Of` identifies the usage from which the relief is subtracted (Size.Measurement).
	Of     string
	Tokens int
}

// Stuck describes the session at the moment when its episode got stuck. It is zero if the episode is not stuck. While
// the episode is stuck, passes change nothing. The rules are asked again only after one of these values has grown, a
// drop was queued, or a new compartment has come.
type Stuck struct {
	// Tag was the highest tag of the session, and Grace was the highest tag that the two-pass reclaim could drop. Band
	// was 1 below 85 % of the window, 2 below 95 %, and 3 above.
	Tag, Grace, Band int
}

// `covered` is the number of leading messages that the head covers.
func (s *Session) goal(a Assessment, r Readings, limit, covered int) rule.Goal {
	high := int(r.Threshold / 100 * float64(limit))
	g := rule.Goal{
		Current: a.Size.Current, Ceiling: high, Target: min(high, int(r.LowMark/100*float64(limit))),
		// `Measured` tells the rules whether Current already includes the effect of the last bust. It does if the
		// provider has reported a usage since that bust. It also does if the provider never reports a usage, because
		// the host then counts each prompt itself. In an emergency, the rules cannot wait for a usage, so `Measured` is
		// always true.
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

// occasionOf returns the most urgent occasion that applies. On a hard pass, Pressure applies as soon as the prompt is
// more than half way from the low mark to the high mark. The prefix is gone anyway, so this bust also frees the space
// for which the next episode would need a bust of its own.
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

// forcedAt returns the size at which a bust is expected if this pass makes none. If this pass considers a bust for
// rent, it is the high mark. Otherwise, it is the next level from which a bust need not pay off: 85 % or 95 % of the
// window (see isWorthIt).
func forcedAt(a Assessment, r Readings, limit int) int {
	if a.Cause == CauseRent {
		return int(r.Threshold / 100 * float64(limit))
	}
	if a.Percent >= ForcePercent {
		return limit * EmergencyPercent / 100
	}
	return limit * ForcePercent / 100
}

// In an emergency, a bust must free at least minEmergency tokens. The model's next step would use up a smaller amount
// immediately, and the emergency would be back. But if a bust brings the prompt below the emergency level, it may free
// less.
const minEmergency = 2000

// isWorthIt reports whether a bust of a cached prefix is worth its cost. After a flush or a refused prompt, and while
// the price is unknown, it is always worth it.
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

// isRelief reports whether the bust delays the next episode for long. It does if it brings the prompt half of the way
// from the high mark down to the low mark. It also does if it brings the prompt below the high mark by a tenth of the
// window, because most of the content that then remains is too new to be removed. docs/decisions.md has the
// measurements.
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

// reliefAfter returns the relief after a bust, or nil if the relief stays as it is. `edits` is the number of the bust's
// edits. `freed` is the number of tokens that they remove from the part of the prompt that the newest usage measured.
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
// stuck, or if the provider has reported no usage since the last bust. hasNews means that some compartments are not in
// the head yet.
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
