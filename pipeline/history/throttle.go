package history

// A Throttle limits the cost of runs that produce no compartment (docs/history.md). Its limits count passes and not
// minutes: a quota per ten minutes could stop the historian while a busy session fills the window. Once a model has
// written a compartment, the throttle starts again from zero.
type Throttle struct {
	// Runs counts the runs since the last reset. Tokens is the number of tokens that the models have read in these
	// runs. Money is the price of these tokens, in the unit of Demand.Price.
	Runs, Tokens int
	Money        float64
	// Pass is the number of the pass on which the newest run began or ended.
	Pass int
	// Waited counts the passes on which the trigger wanted a run, but none was in progress and none began. A new run
	// and a new compartment reset it to 0.
	Waited int
	// Bouts counts how often the throttle has forgotten the failed runs and let a model try again (see `forgotten`). It
	// is reset when a model writes a compartment.
	Bouts int
}

type Demand struct {
	// Pass is the number of the current pass of the session.
	Pass     int
	Snapshot Snapshot
	// Room is the size of the window below the execute threshold, in tokens.
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
	// Extractive: the host copies sentences, paths and errors from the messages. It is always possible and free.
	Extractive
)

type Grant struct {
	Way Way
	// If Way is ByModel, the run may read messages of at most this many tokens.
	Tokens int
	// IsFault means that messages have waited for a summary for too many passes. The session's status shows this fault.
	IsFault bool
}

const (
	maxBackoff = 8
	// maxWaited is the number of passes that messages may wait for a summary before the status shows a fault.
	maxWaited = 6
	// If no run was tried for `forgotten` passes, the throttle forgets the failed runs. Otherwise a model that failed
	// once would not be asked again as long as usage stays below the low mark. Each time the throttle forgets, the next
	// wait is twice as long, up to maxBouts doublings.
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

// Next decides who summarises on this pass: a model, the host itself, or nobody. Below the low mark, messages can wait
// for a model. Above it, the session needs space: if the models have used up their allowance, or if the messages have
// waited for maxWaited passes, the host writes an extract. So above the low mark, Next returns Wait at most maxWaited
// times in a row.
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

// The method `left` returns how many tokens are left in the allowance for failed runs. isSpent means that the host must
// not ask a model again, because the allowance of tokens or money is used up. One failed run alone never uses it up:
// the second run reads only half of the chunk, so it may succeed.
func (t Throttle) left(d Demand) (tokens int, isSpent bool) {
	allowed := allowance(d.Snapshot.Usage, d.Snapshot.Cap, d.Room)
	tokens = allowed - t.Tokens
	return tokens, t.Runs > 1 && (tokens <= 0 || d.Price > 0 && t.Money >= float64(allowed)*d.Price)
}

func (t Throttle) IsOverdue() bool { return t.Waited >= maxWaited }

// RetryPass returns the first pass on which a model may be asked again if the demand does not change.
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

// Begun records that a model begins a run on a pass. It counts the granted tokens as read before the run has read them.
// Otherwise, a run that ends in a crash would use up nothing of the allowance.
func (t Throttle) Begun(pass int, g Grant) Throttle {
	t = t.at(pass)
	t.Runs, t.Tokens, t.Pass, t.Waited = t.Runs+1, t.Tokens+g.Tokens, pass, 0
	return t
}

// Failed records that a run ended without a result on a pass. It replaces the granted tokens with the tokens that the
// model has really read, and adds their price.
func (t Throttle) Failed(pass int, g Grant, tokens int, money float64) Throttle {
	t.Tokens, t.Money, t.Pass = max(0, t.Tokens-g.Tokens)+tokens, t.Money+money, pass
	return t
}

// Published records a new compartment. An extractive compartment does not prove that a model works, so it does not
// reset the failed runs.
func (t Throttle) Published(w Way) Throttle {
	if w == ByModel {
		return Throttle{}
	}
	t.Waited = 0
	return t
}

// allowance returns how many tokens the historian's models may read in failed runs before the throttle stops asking
// them.
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
