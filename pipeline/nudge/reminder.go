package nudge

import "math"

// Level is the tone of a reminder.
type Level string

// The levels, in the order in which they become pressing.
const (
	Quiet  Level = ""
	Gentle Level = "gentle"
	Firm   Level = "firm"
	Urgent Level = "urgent"
)

// Constants of spec transform §23.
const (
	// worthDropping is the least that is worth a word, in tokens.
	worthDropping = 10_000
	// The severity from which each tone is meant.
	gentleFrom = 0.20
	firmFrom   = 0.40
	urgentFrom = 0.65
	// growth is the share of the window by which the pile must have grown
	// before the model is reminded again from the start.
	growth = 0.05
)

// A Reading is what a reminder is decided on, in tokens.
type Reading struct {
	// Undropped is the tool output that the model could drop, what came since
	// the pass included.
	Undropped int
	// Pressure is how full the window is, 0..1 and beyond, in shares of the
	// execute threshold: at 1 a pass may bust.
	Pressure float64
	// Window is the model's window up to the execute threshold, 0 when unknown.
	Window int
}

// A Cycle is how a session was reminded last. Its zero value is a fresh one.
type Cycle struct {
	// Undropped is what there was to drop then, Level how it was said.
	Undropped int
	Level     Level
}

// Remind returns the tone of the reminder that is due, Quiet for none, and the
// cycle after it. A pile that has shrunk since the last reminder begins a new
// cycle; within one, only a graver tone is worth another word.
func Remind(r Reading, last Cycle) (Level, Cycle) {
	if r.Undropped < last.Undropped {
		last = Cycle{}
	}
	level := r.level()
	if level == Quiet {
		return Quiet, last
	}
	if last.Level == Quiet {
		if r.Undropped < last.Undropped+max(worthDropping, int(math.Round(growth*float64(r.Window)))) {
			return Quiet, last
		}
	} else if level.rank() <= last.Level.rank() {
		return Quiet, last
	}
	return level, Cycle{r.Undropped, level}
}

// level is the tone that the reading alone asks for: the share of the window
// that could be dropped, weighed by how full it is.
func (r Reading) level() Level {
	if r.Undropped < worthDropping {
		return Quiet
	}
	share := 1.0
	if r.Window > 0 {
		share = float64(r.Undropped) / float64(r.Window)
	}
	switch severity := share * r.Pressure; {
	case severity >= urgentFrom:
		return Urgent
	case severity >= firmFrom:
		return Firm
	case severity >= gentleFrom:
		return Gentle
	}
	return Quiet
}

func (l Level) rank() int {
	switch l {
	case Gentle:
		return 1
	case Firm:
		return 2
	case Urgent:
		return 3
	}
	return 0
}

// WantsMessage reports whether so much could be dropped that it deserves a
// message of its own: at least a third of what the session may still use. Usable
// shrinks as the window fills, so that pressure is in it already.
func WantsMessage(reclaimable, usable int) bool {
	return reclaimable >= worthDropping && 3*reclaimable >= usable
}
