package nudge

import "math"

type Level string

const (
	Quiet  Level = ""
	Gentle Level = "gentle"
	Firm   Level = "firm"
	Urgent Level = "urgent"
)

const (
	// The pile is the tool output that the model could drop (Reading.Undropped). A pile below worthDropping tokens gets
	// no reminder.
	worthDropping = 10_000
	// These are the lowest severities for the three tones (Reading.level).
	gentleFrom = 0.20
	firmFrom   = 0.40
	urgentFrom = 0.65
	// The first reminder of a cycle comes when the pile has grown by this share of the window.
	growth = 0.05
)

// A Reading holds the numbers that decide whether a reminder is due.
type Reading struct {
	// Undropped is the size in tokens of the tool output that the model could drop.
	Undropped int
	// Pressure is the size of the prompt as a share of the execute threshold. If it is 1 or more, a pass may bust.
	Pressure float64
	// Window is the part of the model's window below the execute threshold in tokens, 0 if unknown.
	Window int
}

// A Cycle records the last reminder of a session. Its zero value is a session that was never reminded.
type Cycle struct {
	// Undropped is the value of Reading.Undropped at that reminder. Level is the reminder's tone.
	Undropped int
	Level     Level
}

// Remind returns the tone of the reminder that is due, or Quiet, and the new state of the cycle. If Undropped is
// smaller than at the last reminder, for example because the model has dropped something, a new cycle begins. Within a
// cycle, each reminder must be more urgent than the one before.
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

// level returns the tone for this reading alone, without regard to earlier reminders. The severity is the pressure
// multiplied by the share of the window that the model could drop.
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

// WantsMessage reports whether a reminder deserves a message of its own. This is the case if the model could drop at
// least worthDropping tokens, and also at least a third of `usable`: the free tokens of the window plus the tokens of
// all active units.
func WantsMessage(reclaimable, usable int) bool {
	return reclaimable >= worthDropping && 3*reclaimable >= usable
}
