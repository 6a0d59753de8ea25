package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
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
		d.Price = s.price(r, profile.Breakpoints, s.firstEdited(p.Edits), p.Freed, d.Size.Current, forcedAt(d, limit))
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
