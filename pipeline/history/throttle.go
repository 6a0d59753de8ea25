package history

// A Throttle limits the cost of runs without a result. It does not count time, because the historian would stop while
// the window fills. docs/history.md has the reasons. A compartment by a model resets the throttle.
type Throttle struct {
	// Runs counts the runs since the last reset. Tokens is the number of tokens that the models have read in these
	// runs. Money is the price of these tokens, in the unit of Demand.Price.
	Runs, Tokens int
	Money        float64
	// Pass is the number of the pass on which the newest of these runs began or ended.
	Pass int
	// Waited counts the passes on which the trigger demanded a run, but no run began or was in progress.
	Waited int
	// After some passes, the throttle forgets runs without a result. Bouts counts how often it has done so since the
	// last reset.
	Bouts int
}

type Demand struct {
	// Pass is the number of the session's pass.
	Pass     int
	Snapshot Snapshot
	// Room is the part of the prompt that the session may fill, in tokens.
	Room int
	// LowMark is the low mark in percent of the limit.
	LowMark float64
	// Price is the price of a token that the historian reads, 0 if it is unknown.
	Price float64
}

type Way uint8

const (
	// Wait: this pass makes no compartment.
	Wait Way = iota
	// ByModel: a model summarises.
	ByModel
	// Extractive: sentences, paths and errors are copied from the messages. It costs
	// nothing, so it is always possible.
	Extractive
)

type Grant struct {
	Way Way
	// Tokens is the size of the messages that a run by a model may read.
	Tokens int
	// IsFault means that eligible messages have waited for too many passes. The session's status shows it.
	IsFault bool
}

const (
	maxBackoff = 8
	// maxWaited is the number of passes that eligible messages may wait before the status shows a fault.
	maxWaited = 6
	// After this number of passes, the throttle forgets runs without a result. Below the low mark, nothing else lets
	// a failing model be asked again, each time after twice as many passes.
	forgotten = 50
	maxBouts  = 4
)

func (t Throttle) rest() int { return forgotten << min(t.Bouts, maxBouts) }

func (t Throttle) at(pass int) Throttle {
	if t.Runs == 0 || pass-t.Pass < t.rest() {
		return t
	}
	return Throttle{Waited: t.Waited, Bouts: t.Bouts + 1}
}

// While usage is above the low mark, the answer is Wait on at most maxWaited passes in a row.
func (t Throttle) Next(d Demand) Grant {
	t = t.at(d.Pass)
	s := &d.Snapshot
	isPressed := s.Usage > d.LowMark
	left, isSpent := t.left(d)
	isTooSoon := t.Runs > 0 && d.Pass-t.Pass < backoff(t.Runs) && s.Usage < EmergencyUsage
	grant := Grant{IsFault: t.IsOverdue()}
	switch {
	case isPressed && (isSpent || grant.IsFault):
		grant.Way = Extractive
	case !isSpent && !isTooSoon:
		grant.Way, grant.Tokens = ByModel, min(s.Reads, s.Cap)
		if left > 0 {
			grant.Tokens = min(grant.Tokens, left)
		}
	}
	return grant
}

// isSpent says that tokens or money are spent. After a single run neither counts as spent, because the second run
// reads half of the chunk and may succeed.
func (t Throttle) left(d Demand) (tokens int, isSpent bool) {
	allowed := allowance(d.Snapshot.Usage, d.Snapshot.Cap, d.Room)
	tokens = allowed - t.Tokens
	return tokens, t.Runs > 1 && (tokens <= 0 || d.Price > 0 && t.Money >= float64(allowed)*d.Price)
}

func (t Throttle) IsOverdue() bool { return t.Waited >= maxWaited }

// If the demand stays the same, RetryPass returns the first pass on which a model may be asked again.
func (t Throttle) RetryPass(d Demand) int {
	if t.Runs == 0 {
		return d.Pass
	}
	if _, isSpent := t.left(d); isSpent {
		return t.Pass + t.rest()
	}
	return t.Pass + backoff(t.Runs)
}

func (t Throttle) Waits() Throttle {
	t.Waited++
	return t
}

// Begun returns the throttle after a run by a model has begun on a pass. The granted tokens count as read from the
// beginning, so that a crash does not make the run free.
func (t Throttle) Begun(pass int, g Grant) Throttle {
	t = t.at(pass)
	t.Runs, t.Tokens, t.Pass, t.Waited = t.Runs+1, t.Tokens+g.Tokens, pass, 0
	return t
}

// Failed replaces the granted tokens of a run without a result with the tokens that were really read, and adds their
// price. pass is the pass on which the run ended.
func (t Throttle) Failed(pass int, g Grant, tokens int, money float64) Throttle {
	t.Tokens, t.Money, t.Pass = max(0, t.Tokens-g.Tokens)+tokens, t.Money+money, pass
	return t
}

// Published returns the throttle after a publish. An extractive compartment does not show that a model works, so the
// failures still count.
func (t Throttle) Published(w Way) Throttle {
	if w == ByModel {
		return Throttle{}
	}
	t.Waited = 0
	return t
}

// allowance returns how many tokens the historian may read without a result.
func allowance(usage float64, runCap, room int) int {
	part := func(share float64, most int) int { return min(round(float64(room)*share), most) }
	switch {
	case usage >= EmergencyUsage:
		return min(1_000_000, max(4*runCap, part(0.5, 1_000_000)))
	case usage >= ForceUsage:
		return min(750_000, max(3*runCap, part(0.35, 750_000)))
	}
	return min(500_000, max(runCap, part(0.2, 500_000)))
}

func backoff(runs int) int { return min(1<<min(runs-1, 16), maxBackoff) }
