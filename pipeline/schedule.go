package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// From ForcePercent on, a pass frees space even mid-turn, because a long turn could reach the limit before it ends.
// Section 1 of docs/decisions.md says when such a pass busts.
const ForcePercent = 85

// From EmergencyPercent on, the next request may not fit, so a pass drops even protected tool output.
const EmergencyPercent = 95

// DefaultLimitTokens is the assumed prompt limit of an unknown model. It is small, because with a larger limit, the
// host could send prompts that the provider refuses.
const DefaultLimitTokens = 128_000

// A Cause says why a pass is not steady, or why a bust had to wait.
type Cause string

const (
	CauseNone Cause = ""
	// CauseFirstPass: the session has sent no wire yet.
	CauseFirstPass Cause = "first-pass"
	// CauseModelChanged: the new model has no part of this session in its cache.
	CauseModelChanged Cause = "model-changed"
	// CausePreamble: the next request has another system prompt or other tools. A
	// model that binds its thinking then rejects all earlier thinking.
	CausePreamble Cause = "preamble-changed"
	// CauseReverted: the user has reverted messages, and this has changed the prefix. For example, the head covers a
	// reverted message, or a prompt that the wire shows shortened is now the newest prompt and must be whole.
	CauseReverted Cause = "head-reverted"
	// CauseIdle: the session was idle for longer than the provider keeps the prefix.
	CauseIdle Cause = "idle"
	// CauseFlush: the user asked for a bust.
	CauseFlush Cause = "flush"
	// CauseForce: pressure is at the force level.
	CauseForce Cause = "force"
	// CausePressure: pressure is at the execute threshold.
	CausePressure Cause = "pressure"
	// CauseRent: sending the removable content again and again has cost as much as the bust that removes it
	// (Session.buy).
	CauseRent Cause = "rent"
	// CauseMidTurn: a bust for pressure waits for the end of the turn.
	CauseMidTurn Cause = "mid-turn"
	// CauseNothingToDo: a bust was allowed, but no rule proposed an edit.
	CauseNothingToDo Cause = "nothing-to-do"
	// CausePrice: a bust was allowed, but it would cost more than it saves.
	CausePrice Cause = "not-worth-it"
	// CauseNoProgress: another bust for pressure would not help. Either the episode is stuck, or the provider has not
	// yet reported a usage that shows how much the last bust freed.
	CauseNoProgress Cause = "no-progress"
	// CauseOverflow: the provider refused the last prompt as too long.
	CauseOverflow Cause = "overflow"
	// CauseInvalidWire: the wire broke a rule of the provider, so the pass became steady.
	CauseInvalidWire Cause = "invalid-wire"
	// CauseBusy: another program has locked the database, so the pass became steady.
	CauseBusy Cause = "busy"
)

// PrefixWasGone reports whether the provider had lost the prefix before the pass began. With any other cause, a hard
// pass folds the head although the prefix is still cached.
func (c Cause) PrefixWasGone() bool {
	switch c {
	case CauseFirstPass, CauseModelChanged, CausePreamble, CauseReverted, CauseIdle:
		return true
	}
	return false
}

const (
	// BustTranscript: the harness changed messages that it had already sent, for example by a compaction, or by moving
	// a reminder to another message.
	BustTranscript = "transcript-changed"
	// BustSystem: the system prompt changed.
	BustSystem = "system-changed"
	// BustUnexplained: the host knows no cause, so the bust is a mistake of the host.
	BustUnexplained = "unexplained"
)

type Signals struct {
	FirstPass    bool
	ModelChanged bool
	// PreambleChanged means that the next request has another system prompt or other
	// tools. It is set only for a model that binds its thinking.
	PreambleChanged bool
	// HeadReverted means that the user has reverted covered messages, that messages of a withdrawn compartment are
	// back, or that the newest prompt is not whole on the wire. In the first two cases, the last measured size belongs
	// to a prompt with another head.
	HeadReverted bool
	// Flush means that the user asked for a bust.
	Flush    bool
	Subagent bool
	// Overflow means that the provider refused the last prompt as too long.
	Overflow bool
	// MidTurn means that the model has not read the newest results yet.
	MidTurn bool
	// Percent is the pressure in percent of the window, for example 72.5. Threshold is
	// the execute threshold in the same unit.
	Percent, Threshold float64
	// Now and LastResponse are Unix milliseconds. LastResponse is 0 if the model has not answered yet.
	Now, LastResponse int64
	// TTL is how long the provider keeps an unused prefix.
	TTL time.Duration
}

// Schedule returns the verdict of a pass and its cause. A verdict allows this:
//
//   - A steady pass adds only the tags of new units. It does not change the cached prefix.
//   - A soft pass may add edits although the prefix is cached. The provider then has to read everything after the first
//     edit again. The pass uses those rules of rule.Table that are allowed on its occasion (occasionOf in episode.go).
//     Once enough space is free, it skips the rules whose purpose is to free space. It applies queued drops, except
//     drops of protected units. It may write a new delta and the synthetic todo list, but must not change the rest of
//     the setup, for example the provider profile. A bust for rent uses no rule that frees space, but applies all
//     queued drops, because the model has asked for them.
//   - A hard pass may also change the setup and fold the head, and it applies the queued drops of protected units. The
//     rules for pressure are already allowed if the prompt is more than half way from the low mark to the threshold.
//
// If the prefix is already lost, the pass is hard, because waiting would save nothing. Later, Session.propose makes a
// soft pass hard if it has to fold the head, for example to show the first compartment. Such a fold makes the provider
// read the whole prompt again, so it waits if the bust is not worth its price.
//
// No pass drops a call that is still running. Below the force level, a bust for pressure waits for the end of the turn,
// except in a subagent.
//
// After Schedule, Session.buy may make a steady pass soft, with CauseRent. A soft or hard pass may also become steady,
// but only with these causes:
//
//   - CauseNoProgress: Session.isStuck, called by Decide. Only a pass for pressure or force.
//   - CauseNothingToDo: Session.propose. Any soft pass except a flush.
//   - CausePrice: isWorthIt, called by Session.propose. Any soft pass except a flush, an overflow, a bust for rent, and
//     a pass whose price is unknown. At EmergencyPercent the bust is worth it if it frees minEmergency tokens, or if
//     the prompt is then below that level. At ForcePercent it is also worth it if it delays the next episode for long
//     (isRelief).
//   - CauseInvalidWire and CauseBusy: Pass.run in internal/pass/pass.go. Soft and hard passes.
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

// isIdle reports whether the provider has dropped the prefix. After exactly the TTL, the prefix is still cached.
func isIdle(s Signals) bool {
	if s.LastResponse == 0 && s.Percent == 0 {
		return false // the model has not answered yet
	}
	return time.Duration(s.Now-s.LastResponse)*time.Millisecond > s.TTL
}
