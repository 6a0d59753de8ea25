package pipeline

import (
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Readings are the facts of the moment that a pass is decided on.
type Readings struct {
	// Now is Unix milliseconds.
	Now int64
	// LimitTokens is the model's prompt limit, 0 when nobody knows.
	LimitTokens int
	// Threshold is the execute threshold in percent of the limit: the
	// high-water mark. LowMark is the low one in percent, 0 to have it chosen.
	Threshold, LowMark float64
	TTL                time.Duration
	Subagent           bool
	// Flush says that the user asked for a bust.
	Flush bool
	// Overflow says that the provider has refused the newest prompt as too long.
	Overflow bool
	// Price is the model's. Without one no bust is weighed against its gain, and
	// the low mark is chosen by TypicalPrice; the host always gives one.
	Price schema.Price
	// Profile names the provider profile, Gaps says whether pauses are to be
	// shown; both take effect on a hard pass.
	Profile string
	Gaps    bool
	Knobs   rule.Knobs
}

// A Decision is what a pass adds to the frozen state.
type Decision struct {
	Verdict schema.Verdict
	Cause   Cause
	Edits   []frozen.Edit
	// Setup is the session's from now on.
	Setup frozen.Setup
	// Drained are the tags whose queued drop is done with.
	Drained []int
	// Model is the one that the pass is for.
	Model schema.Model
	// InputTokens is the size of the last prompt that the provider reported,
	// Size that of the next one, Percent the latter as pressure.
	InputTokens int
	Size        Size
	Percent     float64
	// Goal is the tokens that the pass wanted to get down to, 0 where pressure
	// asked for nothing.
	Goal int
	// Price is what the bust costs and gains; zero when nothing was proposed.
	Price BustPrice
	// FreedBy counts the tokens freed by each rule, by name; nil when steady.
	FreedBy map[string]int
	// Episode is what is remembered of the pressure episode.
	Episode Episode
}

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

// Steady returns the decision without what it would have added, for when that
// could not be stored or is not worth it. What shows nowhere on the wire stays.
func (d Decision) Steady(cause Cause, before *Session) Decision {
	grace := d.Setup.ReclaimUpTo
	d.Verdict, d.Cause, d.Edits, d.Drained = schema.Steady, cause, nil, nil
	d.Setup = before.State.Setup
	d.Setup.ReclaimUpTo = max(grace, d.Setup.ReclaimUpTo)
	d.FreedBy = nil
	d.Episode.ReliefOf, d.Episode.Relief = before.Meta.Episode.ReliefOf, before.Meta.Episode.Relief
	return d
}

// Decide returns what the pass over the current transcript adds. It changes nothing.
func (s *Session) Decide(r Readings) Decision {
	d := Decision{Model: s.Model(), Size: s.size(), Setup: s.State.Setup, Episode: s.Meta.Episode}
	d.InputTokens = d.Size.Measured
	limit := r.LimitTokens
	if limit <= 0 {
		limit = DefaultLimitTokens
	}
	if r.Overflow { // the provider has counted more than we did
		d.Size.Current = max(d.Size.Current, limit)
	}
	d.Percent = float64(d.Size.Current) / float64(limit) * 100
	d.Verdict, d.Cause = Schedule(Signals{
		FirstPass:    s.Meta.Passes == 0,
		ModelChanged: s.Meta.Passes > 0 && d.Model != s.Meta.Model,
		Flush:        r.Flush, Subagent: r.Subagent, Overflow: r.Overflow, MidTurn: s.isMidTurn(),
		Percent: d.Percent, Threshold: r.Threshold,
		Now: r.Now, LastResponse: s.lastUse(), TTL: r.TTL,
	})
	if d.Percent < r.Threshold {
		d.remember(s, false)
	}
	if d.Cause == CauseMidTurn {
		// The pass could have dropped what there is, but for the turn: that is
		// the grace of the two-pass reclaim.
		d.Setup.ReclaimUpTo = max(d.Setup.ReclaimUpTo, s.State.TagCounter)
	}
	if d.Verdict == schema.Steady {
		return d
	}
	if s.isStuck(d) {
		return d.Steady(CauseNoProgress, s)
	}
	return s.propose(d, r, limit)
}

// propose asks the rules, and weighs what they want.
func (s *Session) propose(d Decision, r Readings, limit int) Decision {
	isHard := d.Verdict == schema.Hard
	if isHard {
		d.Setup.Profile, d.Setup.Gaps = r.Profile, r.Gaps
	}
	profile := render.ProfileNamed(d.Setup.Profile)
	r.Knobs.DropsStaleReduceCalls = profile.DropsStaleReduceCalls()

	v := s.view(profile)
	v.PrefixIsGone = isHard
	v.Goal = s.goal(d, r, limit)
	v.Occasion = occasionOf(d, v.Goal)
	p := rule.Propose(v, r.Knobs)
	if v.Occasion > rule.AnyBust {
		d.Goal = v.Goal.Target
	}
	if d.Cause != CauseFirstPass { // nothing had its grace yet
		d.Setup.ReclaimUpTo = max(d.Setup.ReclaimUpTo, s.State.TagCounter)
	}
	if len(p.Edits) == 0 && !isHard && d.Cause != CauseFlush {
		d.remember(s, d.Percent >= r.Threshold)
		return d.Steady(CauseNothingToDo, s)
	}
	if len(p.Edits) > 0 {
		d.Price = s.price(r, profile.Breakpoints, s.firstEdited(p.Edits), p.Freed, d.Size.Current, s.forcedAt(d, limit))
	}
	if !isHard && !isWorthIt(d, r, p.Freed, limit) {
		return d.Steady(CausePrice, s)
	}
	d.Edits, d.FreedBy = p.Edits, p.By
	d.Drained = s.drained(d.Edits)
	if !r.Subagent {
		d.Setup.Todo = s.todoAfter(profile, d.Edits)
	}
	d.Episode.ReliefOf, d.Episode.Relief = s.relief(d, p.Freed)
	d.remember(s, d.Size.Current-p.Freed >= v.Goal.Ceiling && d.Percent >= r.Threshold)
	return d
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
func (s *Session) forcedAt(d Decision, limit int) int {
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

// todoAfter is the todo list to show once edits are applied.
func (s *Session) todoAfter(p render.Profile, edits []frozen.Edit) frozen.Todo {
	undo := s.State.Freeze(edits)
	defer s.State.Thaw(undo)
	return s.nextTodo(p, func(tag int) bool { return !s.State.ByTag(tag).Active() })
}

// drained lists the queued drops that edits settle, and those of units that
// have nothing left to drop.
func (s *Session) drained(edits []frozen.Edit) []int {
	if len(s.State.Queue()) == 0 {
		return nil
	}
	undo := s.State.Freeze(edits)
	defer s.State.Thaw(undo)
	var tags []int
	for _, q := range s.State.Queue() {
		if u := s.State.ByTag(q.Tag); u == nil || !u.Active() {
			tags = append(tags, q.Tag)
		}
	}
	return tags
}

// Model returns the model that the newest user message asks.
func (s *Session) Model() schema.Model {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.User && e.head.model.ID != "" {
			return e.head.model
		}
	}
	return s.Meta.Model
}

// lastUse returns when the provider last had the prefix before it, Unix ms, 0
// for never: when the model answered, or a pass made it a request that is not
// answered yet. Else an idle session would bust with each pass until the answer
// (bug class A10).
func (s *Session) lastUse() int64 {
	answered := s.lastResponse()
	if answered == 0 {
		return 0
	}
	return max(answered, s.Meta.At)
}

// lastResponse returns when the model last answered, Unix ms, 0 for never.
func (s *Session) lastResponse() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant {
			return max(e.head.created, e.head.completed)
		}
	}
	return 0
}

// AnsweredAt returns when the newest answer that the provider measured was
// complete, Unix ms, 0 for never.
func (s *Session) AnsweredAt() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant && e.head.usage.Prompt() > 0 {
			return e.head.completed
		}
	}
	return 0
}

// isMidTurn reports whether the newest assistant step ended in tool calls whose
// results the model has not read. An error ends a turn.
func (s *Session) isMidTurn() bool {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant {
			if e.head.errored {
				return false
			}
			return e.head.finish == "tool-calls" || e.head.finish == "" && e.head.hasTools
		}
	}
	return false
}
