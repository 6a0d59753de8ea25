package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// Readings are the facts from outside the session on which Decide bases its decision, for example time and prices.
type Readings struct {
	// Now is Unix milliseconds.
	Now int64
	// LimitTokens is the model's prompt limit in tokens, 0 if it is unknown.
	LimitTokens int
	// Threshold is the high mark, in percent of the limit, for example 65. LowMark is the low mark, also in percent. If
	// LowMark is 0, the pass computes a low mark from the price.
	Threshold, LowMark float64
	// TTL is how long the provider keeps an unused prefix. Route describes the other properties of its cache.
	TTL      time.Duration
	Route    route.Route
	Subagent bool
	// Flush means that the user asked for a bust.
	Flush bool
	// Overflow means that the provider refused the newest prompt as too long.
	Overflow bool
	// OverflowTokens is the size of the refused prompt in the provider's error, 0 if the error does not name it.
	OverflowTokens int
	// Counting converts between the provider's tokens and the host's.
	Counting Counting
	// Price is the model's price per token. If it is zero, the pass does not compare the cost of a bust with its gain,
	// and computes the low mark from TypicalPrice.
	Price schema.Price
	// Profile is the provider's profile. Binds means that the model binds its thinking to its prompt. Gaps says whether
	// pauses are shown. A change of these three takes effect on the next hard pass.
	Profile     string
	Binds, Gaps bool
	// SystemPending means that the harness has a new system prompt, but the session still sends its old one. The
	// session adopts the new prompt when the next turn begins.
	SystemPending bool
	// SystemIsNew means that this request already has a system prompt that no pass has seen yet.
	SystemIsNew bool
	// SystemIsOld means that the session adopted its system prompt on an earlier day, so the date in the prompt is
	// wrong. When the prefix is lost for another reason, the session adopts the harness's newer prompt.
	SystemIsOld bool
	Knobs       rule.Knobs
	// BuysForRent means that a pass busts when the rent has reached the price of the bust. WorkingSet is the size of
	// the working set in the host's tokens. Older messages cause rent, because a summary could replace them. If
	// WorkingSet is 0, only the content that edits could remove causes rent.
	BuysForRent bool
	WorkingSet  int
	// History holds the content of a new head, for example summaries and memories. It is nil if the session cannot have
	// a head, for example because the historian is switched off.
	History *History
}

// A Decision is the result of the first half of a pass.
type Decision struct {
	Assessment
	Additions
}

// An Assessment is the judgement of a pass about the session. It does not affect the wire.
type Assessment struct {
	Verdict schema.Verdict
	Cause   Cause
	// Model is the model of the request. Agent is the harness's name for the agent of the request, for example "build".
	Model schema.Model
	Agent string
	// InputTokens is the size of the newest prompt for which the provider has reported a usage (Size.Measured). Size is
	// the estimated size of the next prompt. Percent is the same size in percent of the limit.
	InputTokens int
	Size        Size
	Percent     float64
	// Goal is the prompt size in tokens that the pass wants to reach. It is 0 if the pass was not under pressure.
	Goal int
	// Price is the estimated cost and gain of the bust. It is zero if no rule proposed an edit.
	Price schema.BustPrice
	// Gauge relates the provider's count of the newest measured prompt to the host's count. Stuck is not zero if the
	// pressure remains although the rules have removed everything that they may remove.
	Gauge Gauge
	Stuck Stuck
	// Rent is the rent of the session. It includes the rent of this request only if the pass has considered a bust for
	// rent. Otherwise, it is still the rent after the previous pass.
	Rent Rent
	// ReclaimUpTo is the highest tag that this pass or an earlier pass could have dropped (Meta.ReclaimUpTo).
	ReclaimUpTo int
	// perToken converts the host's tokens to the provider's: if a bust frees one token in the host's count, the
	// provider's count falls by perToken. It is usually the ratio that the host has learned for the model. If the gauge
	// is an estimate, it is the ratio in the newest measured prompt instead. If the provider refused a prompt, it is
	// the ratio in the refused prompt.
	perToken float64
}

// Additions hold everything that a pass adds to the frozen state. For a steady pass, they are the zero value.
type Additions struct {
	frozen.Additions
	// Reasons holds the reason of each edit, in the order of Edits. They do not affect the wire, and are for people.
	Reasons []rule.Reason
	// Relief is the number of tokens that busts have freed since the newest usage, including this bust. It is nil if
	// the number does not change.
	Relief *Relief
	// FreedBy maps the name of a rule to the tokens that its edits free, in the host's count. The entry Summaries
	// counts the tokens of the messages that the new head replaces.
	FreedBy map[string]int
	// Fold says why the pass has folded the head, "" if it has not.
	Fold FoldReason
}

const Summaries = "summaries"

// Steady returns a steady decision without the additions of d, which could not be stored or are not worth a bust.
func (d Decision) Steady(cause Cause) Decision {
	d.Verdict, d.Cause = schema.Steady, cause
	d.Additions = Additions{}
	return d
}

func (s *Session) Decide(r Readings) Decision {
	limit := r.LimitTokens
	if limit <= 0 {
		limit = DefaultLimitTokens
	}
	a := s.assess(r, limit)
	switch {
	case a.Verdict == schema.Steady:
		if d, ok := s.buy(&a, r, limit); ok {
			return s.withRestored(d, r, limit)
		}
		return Decision{Assessment: a}
	case s.isStuck(a, s.hasNews(r)):
		return Decision{Assessment: a}.Steady(CauseNoProgress)
	}
	return s.withRestored(s.propose(a, r, limit, 0), r, limit)
}

func (s *Session) assess(r Readings, limit int) Assessment {
	a := Assessment{Model: s.Model(), Agent: s.agent(), Stuck: s.Meta.Episode.Stuck, Rent: s.Meta.Rent, ReclaimUpTo: s.Meta.ReclaimUpTo, perToken: r.Counting.Model.value()}
	a.Size, a.Gauge = s.size(r.Counting)
	if s.isEstimated(a.Gauge) {
		a.perToken = s.perMeasured(a)
	}
	if r.Overflow {
		refusedAt := limit
		if s.isModelNew() {
			refusedAt = 0 // the refused prompt was for another model, so this model's limit says nothing about its size
		}
		a.perToken = s.refused(&a.Size, &a.Gauge, refusedAt, r.OverflowTokens, r.Counting)
	}
	a.InputTokens = a.Size.Measured
	a.Percent = float64(a.Size.Current) / float64(limit) * 100
	a.Verdict, a.Cause = Schedule(Signals{
		FirstPass:       s.Meta.Passes == 0,
		ModelChanged:    s.isModelNew(),
		HeadReverted:    s.isReverted(s.State.Head) || s.hasRestored(r) || isPromptLost(&s.content, r),
		PreambleChanged: s.State.Setup.Binds && (r.SystemIsNew || r.SystemPending && !s.isMidTurn() || s.Meta.Passes > 0 && a.Agent != s.Meta.Agent),
		Flush:           r.Flush, Subagent: r.Subagent, Overflow: r.Overflow, MidTurn: s.isMidTurn(),
		Percent: a.Percent, Threshold: r.Threshold,
		Now: r.Now, LastResponse: s.lastUse(r.Now), TTL: r.TTL,
	})
	if a.Percent < r.Threshold {
		a.Stuck = Stuck{}
	}
	if a.Cause == CauseMidTurn {
		// The rule ToolReclaim drops an output only if an earlier pass could already have dropped it, that is, if its
		// tag is at most ReclaimUpTo. This pass drops nothing, because it waits for the end of the turn. But for the
		// next pass, it counts as such an earlier pass. So the next pass may drop all outputs that exist now.
		a.ReclaimUpTo = max(a.ReclaimUpTo, s.State.TagCounter)
	}
	return a
}

// perMeasured returns the ratio of provider tokens to the host's tokens in the newest measured prompt.
func (s *content) perMeasured(a Assessment) float64 {
	if a.Size.Measured == 0 {
		return a.perToken
	}
	return ratio(a.Gauge.Tokens-a.Gauge.Base-s.thinkingSent(s.measuredUpTo(a.Size)), a.Gauge.Own)
}

// propose decides what a bust adds. Some removed units may have to come back, because the user wants to keep them.
// `room` is the number of tokens that they may add to the prompt; with 0, none may come back. If `room` is not 0, the
// caller has already decided that the bust is worth its price.
func (s *Session) propose(a Assessment, r Readings, limit, room int) Decision {
	restores := room > 0

	mustPayOff := a.Verdict != schema.Hard && a.Cause != CauseRent && !restores
	change := s.nextHead(a, r)
	if change.isFold() { // the first bytes of the wire change
		a.Verdict = schema.Hard
	}
	isHard := a.Verdict == schema.Hard
	setup := s.State.Setup
	if isHard {
		setup = setupAfter(setup, a.Cause, r)
	}
	profile := render.ProfileNamed(setup.Profile)
	r.Knobs.DropsStaleReduceCalls = profile.DropsStaleReduceCalls()

	v := s.view(profile, setup.Binds, change)
	v.PrefixIsGone = isHard || a.Cause == CauseRent
	measured := s.measuredUpTo(a.Size)
	lost := s.lostWith(setup, measured)
	found := a // the assessment without thinking that becomes invalid anyway
	found.Size.Current -= lost
	left := found // the same with the new head
	coveredOfMeasured, thinking := s.freedByHead(change, measured)
	if lost > 0 || a.Size.Measured == 0 {
		thinking = 0 // lost already includes this thinking, or no usage has counted it
	}
	covered := thinking + int(a.perToken*float64(change.freed))
	left.Size.Current -= covered
	left.Percent -= float64(covered) / float64(limit) * 100
	back := s.returning(v.State, room, measured, a.perToken)
	for _, tag := range back.tags {
		v.State.Restore(tag)
	}
	for _, size := range []*Assessment{&found, &left} {
		size.Size.Current += int(a.perToken * float64(back.tokens))
		size.Percent += a.perToken * float64(back.tokens) / float64(limit) * 100
	}
	goal := s.goal(left, r, limit, change.covered)
	if r.Overflow || left.Percent >= unfitPercent {
		goal.Fit = int(float64(limit) * fitShare)
	}
	v.Goal = inOwnTokens(goal, a.perToken)
	// The new head alone may already end the pressure, so the rules would have nothing to do. But after a new head, the
	// provider has to read the whole prompt again anyway. So the rules still free space down to the low mark.
	if a.Cause != CauseRent { // in a bust for rent, age alone is no reason to remove content
		v.Occasion = max(occasionOf(left, goal), min(occasionOf(found, goal), rule.Pressure))
	}
	p := rule.Propose(v, r.Knobs)
	freed := covered + int(a.perToken*float64(p.Freed))
	if v.Occasion > rule.AnyBust {
		a.Goal = goal.Target
	}
	if a.Cause != CauseFirstPass { // the first pass does not count as a pass that could have dropped outputs
		a.ReclaimUpTo = max(a.ReclaimUpTo, s.State.TagCounter)
	}
	if len(p.Edits) == 0 && change.head == nil && !isHard && a.Cause != CauseFlush && !restores {
		a.Stuck = s.stuckIf(a.Percent >= r.Threshold, a.Percent)
		return Decision{Assessment: a}.Steady(CauseNothingToDo)
	}
	if len(p.Edits)+len(back.tags) > 0 || change.head != nil {
		a.Price = s.price(bust{
			firstMessage: min(s.firstEdited(p.Edits), back.first), edited: p.Freed - back.tokens, head: change,
			current: a.Size.Current, forcedAt: forcedAt(a, r, limit),
			breakpoints: profile.Breakpoints,
		}, r)
		a.Price.Resent, a.Price.Removed = int(a.perToken*float64(a.Price.Resent)), max(0, freed-int(a.perToken*float64(back.tokens)))
		a.Price.Cost = costOf(a.Price, r.Price)
	}
	if change.freed > 0 {
		p.By[Summaries] = change.freed
	}
	if mustPayOff && !isWorthIt(a, r, freed, limit) {
		return Decision{Assessment: a}.Steady(CausePrice)
	}
	a.Stuck = s.stuckIf(left.Size.Current-(freed-covered) >= goal.Ceiling && a.Percent >= r.Threshold, a.Percent)
	freedOfMeasured := lost + thinking + int(s.perMeasured(a)*float64(coveredOfMeasured+s.freedUpTo(measured, p)-back.ofMeasured))
	if !r.Subagent {
		setup.Todo = s.nextTodo(profile, setup.Binds, v.NewestAnswer(), change.covered, p.After)
	}
	return Decision{a, Additions{
		Additions: frozen.Additions{
			Restored: back.tags, Edits: p.Edits, Released: released(p), Setup: &setup, Head: change.head, Covered: change.keys, Drained: drained(p.After),
		},
		Relief: s.reliefAfter(a.Size, freedOfMeasured, len(p.Edits)+len(back.tags)), Reasons: p.Reasons, FreedBy: p.By, Fold: change.reason,
	}}
}

// If the estimated prompt exceeds the limit by a tenth, the provider will surely refuse the request, because an
// estimate is wrong by at most a tenth.
const unfitPercent = 110

// If a pass has to withhold outputs to make a request fit, it aims for this share of the limit.
const fitShare = 0.9

// setupAfter returns the setup after a hard pass. Usually it increments Preamble, which makes all bound thinking
// invalid. This costs nothing, because almost every hard pass changes the system prompt, the tools, the model or the
// head, and so makes the thinking invalid anyway. A pause alone is the exception: the provider has lost the prefix, but
// the thinking is still valid. So Preamble stays the same.
func setupAfter(setup frozen.Setup, cause Cause, r Readings) frozen.Setup {
	isNew := cause != CauseIdle || r.SystemIsNew || r.SystemPending || r.SystemIsOld || setup.Binds != r.Binds
	setup.Profile, setup.Binds, setup.Gaps = r.Profile, r.Binds, r.Gaps
	if isNew {
		setup.Preamble++
	}
	return setup
}

// drained returns the tags of the queued drops that the proposed edits carry out, so that the queue no longer needs
// them.
func drained(after *frozen.Overlay) []int {
	var tags []int
	for _, q := range after.Queue() {
		if u := after.ByTag(q.Tag); u == nil || !u.Active() {
			tags = append(tags, q.Tag)
		}
	}
	return tags
}
