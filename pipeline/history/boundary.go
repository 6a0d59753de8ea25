package history

// If at most smallRest tokens are left before the protected tail, they join the tail: they are not worth a compartment.
const smallRest = 256

// Snapshot divides the session for a run of the historian: it decides which messages the run summarises, and where the
// protected tail begins. docs/history.md describes each step.
func (s Situation) Snapshot(r Request) Snapshot {
	d := division{Situation: s, uncovered: FirstUncovered(s.Covered), out: Snapshot{
		Request: r, Start: FirstUncovered(s.Covered), Last: s.Messages.Total(), Limit: s.Limit, Usage: s.Usage,
	}}
	if s.Messages.Total() == 0 {
		d.out.Reason, d.out.TailStart, d.out.End = EmptySession, 1, 1
		return d.out
	}
	switch r.Mode {
	case WrapUp:
		d.planWrapUp()
	default:
		d.planIncremental()
	}
	d.limitRun()
	return d.out
}

type division struct {
	Situation
	uncovered int
	arcs      spans
	out       Snapshot
}

func (d *division) isPressed() bool {
	scale := d.out.Request.Scale
	return d.Usage >= ForceUsage || scale > 0 && scale < 1
}

func (d *division) target(usage float64) int {
	target := tailTarget(d.Limit, d.Threshold, usage)
	if d.WorkingSet > 0 {
		target = min(target, d.WorkingSet)
	}
	if scale := d.out.Request.Scale; scale > 0 {
		target = max(1, int(float64(target)*scale))
	}
	return target
}

func (d *division) planIncremental() {
	d.out.Target = d.target(d.Usage)
	d.walk()
	d.arcs = spansOf(d.Messages, d.uncovered, d.Messages.suffixStart(d.out.Target))
	d.leaveArcs()
	d.snapToPrompt()
	d.leaveArcs()
	d.moveTo(max(d.out.TailStart, d.uncovered), d.out.Reason)
	d.spareLivePrompt()
	d.skipSmallRest()
}

// The method `walk` chooses the start of the tail so that the tail has the target size. If the first message of this
// tail is huge, the tail would be several times too large. In this case, the tail begins after that message.
func (d *division) walk() {
	start := d.Messages.suffixStart(d.out.Target)
	d.out.TailStart, d.out.Reason = start, SizeWalk
	if start == 1 {
		d.out.Reason = WholeSession
	}
	if d.isHuge(start) && start < d.Messages.Total() {
		d.moveTo(start+1, HugeMessage)
	}
}

func (d *division) isHuge(ordinal int) bool {
	return d.Messages.Tokens(ordinal, ordinal+1) > max(2*d.out.Target, min(64_000, d.Limit/3))
}

func (d *division) leaveArcs() {
	d.moveTo(d.arcs.outside(d.out.TailStart, d.Messages.Total()), TailAtToolArc)
}

// snapToPrompt moves the start of the tail back to the nearest prompt or step with tool calls, unless this would make
// the tail much larger. Under pressure, it leaves the start where it is if almost no message would remain for the
// historian.
func (d *division) snapToPrompt() {
	start := d.out.TailStart
	to := d.thoughtBefore(start)
	if to == 0 || d.Messages.Tokens(to, start) > min(round(1.5*float64(d.out.Target)), 48_000) {
		return
	}
	if d.isPressed() && d.Messages.Tokens(d.uncovered, to) <= smallRest {
		return
	}
	d.moveTo(to, TailAtPrompt)
}

// thoughtBefore looks at the uncovered messages up to `ordinal`. It returns the ordinal of the newest one that is a
// prompt or has a tool call.
func (d *division) thoughtBefore(ordinal int) int {
	between := d.Messages.Between(d.uncovered, ordinal+1)
	for i := len(between) - 1; i >= 0; i-- {
		if between[i].IsPrompt() || len(between[i].Calls) > 0 {
			return between[i].Ordinal
		}
	}
	return 0
}

// spareLivePrompt puts the newest prompt, which the model is answering, into the tail. Under pressure it does not,
// because a session with a single prompt could otherwise never be summarised.
func (d *division) spareLivePrompt() {
	prompt := d.Messages.newestPrompt(1)
	if d.isPressed() || prompt < d.uncovered || prompt >= d.out.TailStart {
		return
	}
	d.moveTo(max(d.uncovered, d.arcs.before(prompt)), TailAtLivePrompt)
}

func (d *division) skipSmallRest() {
	if start := d.out.TailStart; start > d.uncovered && d.Messages.Tokens(d.uncovered, start) <= smallRest {
		d.moveTo(d.uncovered, SmallRest)
	}
}

func (d *division) moveTo(start int, why TailReason) {
	if start != d.out.TailStart {
		d.out.TailStart, d.out.Reason = start, why
	}
}

// planWrapUp lets the tail begin with the first of the turns that the user wants to keep. If the session has no earlier
// turns, the historian gets no messages.
func (d *division) planWrapUp() {
	d.out.Target = d.target(d.Usage)
	d.arcs = spansOf(d.Messages, d.uncovered, d.Messages.suffixStart(d.out.Target))
	start := d.Messages.newestPrompt(max(1, d.out.Request.KeepTurns))
	d.moveTo(max(d.uncovered, d.arcs.before(start)), TailAtTurns)
}

// limitRun makes the run end where its messages reach the cap, but never inside an arc. If the first message or arc
// alone is larger than the cap, the run reads only this message or arc.
func (d *division) limitRun() {
	o := &d.out
	o.Cap = runCap(usable(d.Limit, d.Threshold), o.Target, d.Usage)
	o.End = d.Messages.prefixEnd(d.uncovered, o.TailStart, o.Cap)
	if around, ok := d.arcs.around(o.End); ok && around.first > d.uncovered {
		o.End = around.first
	} else if ok {
		o.End = min(o.TailStart, around.last+1)
	}
	o.Tokens = d.Messages.Tokens(d.uncovered, o.End)
	o.Reads = d.Messages.Reads(d.uncovered, o.End)
	o.Oversize = o.Reads > o.Cap
}
