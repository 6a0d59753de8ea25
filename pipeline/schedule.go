package pipeline

import (
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// ForcePercent is the pressure at which a pass frees space even mid-turn (spec
// transform §3).
const ForcePercent = 85

// EmergencyPercent is the pressure at which the next request may not fit (spec
// history §18).
const EmergencyPercent = 95

// DefaultLimitTokens stands for the window of a model that nobody knows (spec
// transform §3).
const DefaultLimitTokens = 128_000

// A Cause is why a pass is not steady, or why a pass that wanted to bust had to wait.
type Cause string

// The causes of a verdict.
const (
	// CauseNone: nothing asks for a bust.
	CauseNone Cause = ""
	// CauseFirstPass: nothing was ever sent.
	CauseFirstPass Cause = "first-pass"
	// CauseModelChanged: the other model has nothing of this session cached.
	CauseModelChanged Cause = "model-changed"
	// CauseIdle: the provider has forgotten the prefix meanwhile.
	CauseIdle Cause = "idle"
	// CauseFlush: the user asked.
	CauseFlush Cause = "flush"
	// CauseForce: pressure is at the force level.
	CauseForce Cause = "force"
	// CausePressure: pressure is at the execute threshold.
	CausePressure Cause = "pressure"
	// CauseMidTurn: steady, although pressure asks for a bust, because the
	// turn is still collecting tool results.
	CauseMidTurn Cause = "mid-turn"
	// CauseNothingToDo: steady, although a bust was allowed: no rule had anything.
	CauseNothingToDo Cause = "nothing-to-do"
	// CausePrice: steady, although a bust was allowed: it would cost more than
	// it is expected to save before space has to be freed anyway.
	CausePrice Cause = "not-worth-it"
	// CauseNoProgress: steady, although pressure asks for a bust: the rules have
	// nothing that they had not when the last episode ended without relief, or
	// nobody has measured yet what the last bust has brought.
	CauseNoProgress Cause = "no-progress"
	// CauseOverflow: the provider has refused the last prompt as too long.
	CauseOverflow Cause = "overflow"
)

// The causes of a bust that no verdict of ours explains.
const (
	// BustTranscript: the harness changed messages that had been sent (a
	// revert, its own compaction, a reminder that moved on).
	BustTranscript = "transcript-changed"
	// BustSystem: the system prompt changed.
	BustSystem = "system-changed"
	// BustUnexplained is a broken invariant.
	BustUnexplained = "unexplained"
)

// Signals are what the verdict is made from.
type Signals struct {
	FirstPass    bool
	ModelChanged bool
	// Flush says that the user asked for a bust.
	Flush    bool
	Subagent bool
	// Overflow says that the provider has refused the last prompt.
	Overflow bool
	// MidTurn says that the newest assistant turn is still collecting results.
	MidTurn bool
	// Percent is the pressure in percent of the window, Threshold the execute
	// threshold in the same unit.
	Percent, Threshold float64
	// Now and LastResponse are Unix milliseconds; LastResponse 0 means none.
	Now, LastResponse int64
	// TTL is how long the provider keeps an unused prefix.
	TTL time.Duration
}

// Schedule returns what the pass may do to the cached prefix, and why. A steady
// pass leaves it as it is; a soft one may add edits to a prefix that is alive,
// which re-sends what is behind them. A hard verdict is given exactly when the
// prefix is gone before we touch it, so it is never put off; of the soft ones,
// that for pressure waits for the end of a turn.
func Schedule(s Signals) (schema.Verdict, Cause) {
	switch {
	case s.FirstPass:
		return schema.Hard, CauseFirstPass
	case s.ModelChanged:
		return schema.Hard, CauseModelChanged
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

// isIdle reports whether the provider has forgotten the prefix. Exactly at the
// TTL it is still taken to be there.
func isIdle(s Signals) bool {
	if s.LastResponse == 0 && s.Percent == 0 {
		return false // nothing was ever answered
	}
	return time.Duration(s.Now-s.LastResponse)*time.Millisecond > s.TTL
}
