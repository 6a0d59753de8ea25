package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// ForcePercent is the pressure at which a pass frees space even in the middle of a turn. Otherwise, long turns would
// reach the limit before they end. Section 1 of docs/decisions.md says why a pass at this pressure does not remove all
// that it could.
const ForcePercent = 85

// EmergencyPercent is the pressure at which the next request may not fit, so that even
// protected tool output is dropped.
const EmergencyPercent = 95

// DefaultLimitTokens is the prompt limit that the host assumes for an unknown model. It is the size of a small window,
// because with a limit that is too large the provider would refuse prompts.
const DefaultLimitTokens = 128_000

// A Cause says why a pass is not steady, or why a pass that wanted to bust had to
// wait.
type Cause string

// The causes of a verdict.
const (
	// CauseNone: there is no reason for a bust.
	CauseNone Cause = ""
	// CauseFirstPass: the session has sent no wire yet.
	CauseFirstPass Cause = "first-pass"
	// CauseModelChanged: the new model has no part of this session in its cache.
	CauseModelChanged Cause = "model-changed"
	// CausePreamble: the next request has another system prompt or other tools. A
	// model that binds its thinking then rejects all earlier thinking.
	CausePreamble Cause = "preamble-changed"
	// CauseReverted: a revert has taken messages that the head replaces, or has made a shortened prompt the newest
	// prompt again. It is also the cause of a bust that any other revert has made.
	CauseReverted Cause = "head-reverted"
	// CauseIdle: the session was idle for longer than the provider keeps the prefix.
	CauseIdle Cause = "idle"
	// CauseFlush: the user asked for a bust.
	CauseFlush Cause = "flush"
	// CauseForce: pressure is at the force level.
	CauseForce Cause = "force"
	// CausePressure: pressure is at the execute threshold.
	CausePressure Cause = "pressure"
	// CauseRent: removable content has cost as much as the bust that removes it
	// (Session.buy).
	CauseRent Cause = "rent"
	// CauseMidTurn: pressure asks for a bust, but the pass stays steady because the
	// turn is still collecting tool results.
	CauseMidTurn Cause = "mid-turn"
	// CauseNothingToDo: a bust was allowed, but the pass stays steady because no rule
	// proposed an edit.
	CauseNothingToDo Cause = "nothing-to-do"
	// CausePrice: a bust was allowed, but the pass stays steady because the bust would
	// cost more than it saves before space must be freed anyway.
	CausePrice Cause = "not-worth-it"
	// CauseNoProgress: pressure asks for a bust, but the pass stays steady. Either the episode is stuck and there is
	// nothing new to remove, or no usage shows the effect of the last bust yet.
	CauseNoProgress Cause = "no-progress"
	// CauseOverflow: the provider refused the last prompt as too long.
	CauseOverflow Cause = "overflow"
	// CauseInvalidWire: the wire of the pass breaks a rule of the provider, so the pass
	// stays steady.
	CauseInvalidWire Cause = "invalid-wire"
	// CauseBusy: another program holds a lock on the database, so the pass cannot be
	// stored and stays steady.
	CauseBusy Cause = "busy"
)

// PrefixWasGone reports whether the cached prefix was lost before the pass touched it. A pass with another cause may be
// hard, too: then it folds the head although the prefix is still cached.
func (c Cause) PrefixWasGone() bool {
	switch c {
	case CauseFirstPass, CauseModelChanged, CausePreamble, CauseReverted, CauseIdle:
		return true
	}
	return false
}

// The causes of a bust that the pass's verdict does not explain.
const (
	// BustTranscript: the harness changed messages that had been sent. Examples are the harness's own compaction, and a
	// reminder that moved.
	BustTranscript = "transcript-changed"
	// BustSystem: the system prompt changed.
	BustSystem = "system-changed"
	// BustUnexplained: no known cause, so an invariant of the host is broken.
	BustUnexplained = "unexplained"
)

// Signals are the facts from which Schedule makes its verdict.
type Signals struct {
	FirstPass    bool
	ModelChanged bool
	// PreambleChanged means that the next request has another system prompt or other
	// tools. It is set only for a model that binds its thinking.
	PreambleChanged bool
	// HeadReverted is set in three cases: a revert has taken messages that the head covers; messages with a withdrawn
	// compartment have come back; or a prompt that is not whole on the wire is the newest again. In the first two
	// cases, the reported sizes belong to another head.
	HeadReverted bool
	// Flush means that the user asked for a bust.
	Flush    bool
	Subagent bool
	// Overflow means that the provider refused the last prompt as too long.
	Overflow bool
	// MidTurn means that the newest assistant turn is still collecting tool results.
	MidTurn bool
	// Percent is the pressure in percent of the window, for example 72.5. Threshold is
	// the execute threshold in the same unit.
	Percent, Threshold float64
	// Now and LastResponse are Unix milliseconds. LastResponse is 0 if the model has
	// not answered yet.
	Now, LastResponse int64
	// TTL is how long the provider keeps an unused prefix.
	TTL time.Duration
}

// Schedule returns the verdict of a pass and its cause. A verdict allows this:
//
//   - A steady pass adds nothing to the frozen state except the tags of new units. It does not change the cached
//     prefix.
//   - A soft pass may add edits to a live prefix, and everything after the first edit
//     is then sent again. It asks the rules of rule.Table up to its occasion
//     (occasionOf in episode.go). The rules of any bust are always asked. From the
//     threshold on, the pass also asks rules that make room. At ForcePercent it asks more
//     of them, and at EmergencyPercent or after a refused prompt it asks all of them. Once
//     enough is freed, the pass skips the remaining rules that make room. It applies the
//     queued drops except those of protected units. A bust for rent applies those, too,
//     because the model has asked for them, but asks no rule that makes room. A soft
//     pass may write a new delta of the head, and may place the synthetic todo list. It
//     must not change the rest of the setup, for example the provider profile.
//   - A hard pass may do all that a soft pass may. It may also change the setup and fold the head, and it applies the
//     queued drops of protected units, too. It asks the rules of the occasion Pressure at a smaller size, from half way
//     between the low mark and the threshold on.
//
// If the prefix is lost before the pass touches it, Schedule makes the pass hard, because waiting with the work would
// save nothing. Later, Session.propose makes a soft pass hard if it has to fold the head, for example to show the first
// compartment. A fold changes the first bytes of the wire and costs a live prefix, so it waits if the bust is not worth
// its price.
//
// No pass drops a call that is still running. If pressure below the force level is the
// only reason for a soft pass, the pass waits for the end of the turn. Only a subagent's
// pass does not wait.
//
// After Schedule, Session.buy may make a steady pass soft, with CauseRent. A soft or hard
// pass may still become steady, and then adds nothing. The cause says why, and this list is
// complete:
//
//   - CauseNoProgress: Session.isStuck, called by Decide. Only a pass for pressure or
//     force.
//   - CauseNothingToDo: Session.propose. Any soft pass except a flush.
//   - CausePrice: isWorthIt, called by Session.propose. Any soft pass except a flush, an overflow, a bust for rent, and
//     a pass whose price is unknown. At EmergencyPercent the bust is worth it if it frees minEmergency tokens, or if
//     the prompt is then smaller than that level. At ForcePercent the bust is also worth it if it delays the next
//     episode for long (isRelief).
//   - CauseInvalidWire and CauseBusy: Pass.run in internal/pass/pass.go. Soft and
//     hard passes.
func Schedule(s Signals) (schema.Verdict, Cause) {
	switch {
	case s.FirstPass:
		return schema.Hard, CauseFirstPass
	case s.ModelChanged:
		return schema.Hard, CauseModelChanged
	case s.PreambleChanged:
		return schema.Hard, CausePreamble
	case s.HeadReverted:
		return schema.Hard, CauseReverted
	case isIdle(s):
		return schema.Hard, CauseIdle
	case s.Flush:
		return schema.Soft, CauseFlush
	case s.Overflow:
		return schema.Soft, CauseOverflow
	case s.Percent >= ForcePercent:
		return schema.Soft, CauseForce
	case s.Percent >= s.Threshold && s.MidTurn && !s.Subagent:
		return schema.Steady, CauseMidTurn
	case s.Percent >= s.Threshold:
		return schema.Soft, CausePressure
	}
	return schema.Steady, CauseNone
}

// isIdle reports whether the provider has dropped the prefix for lack of use. If the
// pause is exactly the TTL, the prefix still counts as cached.
func isIdle(s Signals) bool {
	if s.LastResponse == 0 && s.Percent == 0 {
		return false // the model has not answered yet
	}
	return time.Duration(s.Now-s.LastResponse)*time.Millisecond > s.TTL
}
