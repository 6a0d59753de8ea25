package history

// A Situation holds the facts that decide which part of a session the historian may summarise.
type Situation struct {
	Messages *Messages
	// Covered is the ordinal of the last message with a compartment, 0 if there is none.
	Covered int
	// Limit is the prompt limit of the session's model in tokens, 0 if it is unknown.
	Limit int
	// WorkingSet is the maximum size of the protected tail in tokens. If it is 0, only the window limits the tail.
	WorkingSet int
	// Threshold is the execute threshold, and Usage is the pressure of the session. Both are in percent of the limit.
	Threshold, Usage float64
}

// FirstUncovered returns the ordinal of the first message without a compartment. The trigger and the run must use the
// same ordinal. When they used different ones, no session ever got a first compartment (class H9 in docs/defects.md).
func FirstUncovered(covered int) int { return max(1, covered+1) }

type Mode uint8

const (
	// Incremental: the run may summarise the messages before the protected tail.
	Incremental Mode = iota
	// WrapUp: the run summarises all messages before the newest turns at once, because the user has asked for it.
	WrapUp
)

type Request struct {
	Mode Mode
	// KeepTurns is the number of newest turns that a wrap-up keeps, at least 1.
	KeepTurns int
	// Scale is the factor by which the protected tail shrinks (see the function Scale). 0 means 1.
	Scale float64
}

type TailReason string

const (
	EmptySession     TailReason = "empty-session"
	SizeWalk         TailReason = "size-walk"
	WholeSession     TailReason = "whole-session-smaller-than-tail"
	HugeMessage      TailReason = "huge-message-exception"
	TailAtToolArc    TailReason = "tool-arc"
	TailAtPrompt     TailReason = "semantic-snap"
	TailAtLivePrompt TailReason = "live-prompt"
	SmallRest        TailReason = "small-rest"
	TailAtTurns      TailReason = "newest-turns"
)

// A Snapshot divides a session into four ranges: the covered messages, the eligible messages [Start, End), messages for
// a later run, and the protected tail [TailStart, Last]. The trigger passes its snapshot to the run, so that both use
// the same messages.
type Snapshot struct {
	Request Request
	// Start is the first message without a compartment. End is the first message that the run may not summarise. Last
	// is the session's newest message.
	Start, End, TailStart, Last int

	Reason TailReason
	// Target is the size in tokens that the protected tail should have. Tokens is the size of the eligible messages,
	// Reads is how many of these tokens the historian reads, and Cap is the maximum that one run reads.
	Target, Tokens, Reads, Cap int
	// Oversize means that Reads exceeds Cap, because a message or an arc cannot be divided.
	Oversize bool
	// Limit and Usage are copied from the situation.
	Limit int
	Usage float64
}

func (s *Snapshot) IsRunnable() bool { return s.TailStart > s.Start && s.End > s.Start }
