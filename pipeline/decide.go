package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// Readings are the facts of the moment from which Decide makes its decision.
type Readings struct {
	// Now is Unix milliseconds.
	Now int64
	// LimitTokens is the model's prompt limit in tokens, 0 if it is unknown.
	LimitTokens int
	// Threshold is the execute threshold in percent of the limit, for example 65: the
	// high mark. LowMark is the low mark in percent. If it is 0, the pass chooses one.
	Threshold, LowMark float64
	// TTL is how long the provider keeps an unused prefix. Route describes how its
	// cache behaves otherwise.
	TTL      time.Duration
	Route    route.Route
	Subagent bool
	// Flush says that the user asked for a bust.
	Flush bool
	// Overflow says that the provider refused the newest prompt as too long.
	Overflow bool
	// OverflowTokens is the size of that prompt according to the provider, 0 if the
	// provider did not name it.
	OverflowTokens int
	// Price is the model's price per token. If it is zero, no bust is weighed against
	// its gain, and TypicalPrice is used to choose the low mark. The host always sets
	// it.
	Price schema.Price
	// Profile names the provider profile. Binds says that the model binds its thinking
	// to its prompt. Gaps says whether pauses are shown. A change of any of them takes
	// effect on the next hard pass.
	Profile     string
	Binds, Gaps bool
	// SystemPending says that the harness's system prompt differs from the one that
	// the session sends. The session adopts it when a turn begins.
	SystemPending bool
	// SystemIsOld says that the session adopted its system prompt on an earlier day,
	// so the date in it is wrong. The prompt is renewed once the prefix is lost for
	// another reason.
	SystemIsOld bool
	Knobs       rule.Knobs
}

// A Decision holds a pass's verdict and everything that the pass adds to the frozen
// state.
type Decision struct {
	Verdict schema.Verdict
	Cause   Cause
	Edits   []frozen.Edit
	// Rules names the rule behind each edit, in the order of Edits. It shows
	// nowhere on the wire; a person may ask for it.
	Rules []string
	// Setup is the session's setup from this pass on.
	Setup frozen.Setup
	// Drained lists the tags whose queued drop is finished.
	Drained []int
	// Model is the model that the pass is for. Agent is the harness's agent.
	Model schema.Model
	Agent string
	// InputTokens is the size of the last prompt that the provider reported. Size is
	// the size of the next prompt. Percent is that size in percent of the limit.
	InputTokens int
	Size        Size
	Percent     float64
	// Goal is the prompt size in tokens that the pass wants to reach. It is 0 if the
	// pass was not under pressure.
	Goal int
	// Price is the estimated cost and gain of the bust, zero if no rule proposed an
	// edit.
	Price BustPrice
	// FreedBy counts the freed tokens by rule, for example "tiered drop". A steady
	// pass leaves it nil.
	FreedBy map[string]int
	// Episode and Gauge are stored with the pass: the state of the pressure episode,
	// and the size that the pass believed.
	Episode Episode
	Gauge   Gauge
	// perToken is the number of provider tokens that are freed with one token of the
	// host's count. It is 1 until a refusal shows how far the two counts differ.
	perToken float64
}

// Steady returns d as a steady decision, without its edits. A pass falls back to it
// when the edits cannot be stored or are not worth a bust. Fields that do not show on
// the wire keep their values.
func (d Decision) Steady(cause Cause, before *Session) Decision {
	grace := d.Setup.ReclaimUpTo
	d.Verdict, d.Cause, d.Edits, d.Rules, d.Drained = schema.Steady, cause, nil, nil, nil
	d.Setup = before.State.Setup
	d.Setup.ReclaimUpTo = max(grace, d.Setup.ReclaimUpTo)
	d.FreedBy = nil
	d.Episode.ReliefOf, d.Episode.Relief = before.Meta.Episode.ReliefOf, before.Meta.Episode.Relief
	return d
}

// Decide returns the decision of a pass over the current transcript. It changes
// nothing.
func (s *Session) Decide(r Readings) Decision {
	d := Decision{Model: s.Model(), Agent: s.agent(), Setup: s.State.Setup, Episode: s.Meta.Episode, perToken: 1}
	d.Size, d.Gauge = s.size()
	limit := r.LimitTokens
	if limit <= 0 {
		limit = DefaultLimitTokens
	}
	if r.Overflow {
		d.perToken = s.refused(&d.Size, &d.Gauge, limit, r.OverflowTokens)
	}
	d.InputTokens = d.Size.Measured
	d.Percent = float64(d.Size.Current) / float64(limit) * 100
	d.Verdict, d.Cause = Schedule(Signals{
		FirstPass:       s.Meta.Passes == 0,
		ModelChanged:    s.Meta.Passes > 0 && d.Model != s.Meta.Model,
		PreambleChanged: s.State.Setup.Binds && (r.SystemPending && !s.isMidTurn() || s.Meta.Passes > 0 && d.Agent != s.Meta.Agent),
		Flush:           r.Flush, Subagent: r.Subagent, Overflow: r.Overflow, MidTurn: s.isMidTurn(),
		Percent: d.Percent, Threshold: r.Threshold,
		Now: r.Now, LastResponse: s.lastUse(r.Now), TTL: r.TTL,
	})
	if d.Percent < r.Threshold {
		d.remember(s, false)
	}
	if d.Cause == CauseMidTurn {
		// Only the unfinished turn stops this pass from dropping. So the outputs that
		// it could have dropped have had their grace, which the two-pass reclaim waits
		// for.
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

// propose asks the rules for edits, and weighs the bust against its gain.
func (s *Session) propose(d Decision, r Readings, limit int) Decision {
	isHard := d.Verdict == schema.Hard
	if isHard {
		d.Setup = setupAfter(d, r)
	}
	profile := render.ProfileNamed(d.Setup.Profile)
	r.Knobs.DropsStaleReduceCalls = profile.DropsStaleReduceCalls()

	v := s.view(profile, d.Setup.Binds)
	v.PrefixIsGone = isHard
	goal := s.goal(d, r, limit)
	v.Goal = inOwnTokens(goal, d.perToken)
	v.Occasion = occasionOf(d, goal)
	p := rule.Propose(v, r.Knobs)
	freed := int(d.perToken * float64(p.Freed))
	if v.Occasion > rule.AnyBust {
		d.Goal = goal.Target
	}
	if d.Cause != CauseFirstPass { // on the first pass no output has had its grace
		d.Setup.ReclaimUpTo = max(d.Setup.ReclaimUpTo, s.State.TagCounter)
	}
	if len(p.Edits) == 0 && !isHard && d.Cause != CauseFlush {
		d.remember(s, d.Percent >= r.Threshold)
		return d.Steady(CauseNothingToDo, s)
	}
	if len(p.Edits) > 0 {
		d.Price = s.price(r, profile.Breakpoints, s.firstEdited(p.Edits), p.Freed, d.Size.Current, forcedAt(d, limit))
	}
	if !isHard && !isWorthIt(d, r, freed, limit) {
		return d.Steady(CausePrice, s)
	}
	d.Edits, d.Rules, d.FreedBy = p.Edits, p.Rules, p.By
	d.Drained = s.drained(d.Edits)
	if !r.Subagent {
		d.Setup.Todo = s.todoAfter(profile, d.Setup.Binds, v.NewestAnswer(), d.Edits)
	}
	d.Episode.ReliefOf, d.Episode.Relief = s.relief(d, freed+s.lostWith(d.Setup))
	d.remember(s, d.Size.Current-freed >= goal.Ceiling && d.Percent >= r.Threshold)
	return d
}

// setupAfter returns the setup after a hard pass. The prefix is gone, so the setup may
// change. But a new preamble invalidates all bound thinking. So the preamble is
// numbered anew only if the request's system prompt, tools or model really change.
func setupAfter(d Decision, r Readings) frozen.Setup {
	setup := d.Setup
	isNew := d.Cause != CauseIdle || r.SystemPending || r.SystemIsOld || setup.Binds != r.Binds
	setup.Profile, setup.Binds, setup.Gaps = r.Profile, r.Binds, r.Gaps
	if isNew {
		setup.Preamble++
	}
	return setup
}

// drained lists the queued drops that are finished: the edits settle them, or their
// unit has nothing left to drop.
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
