package host

import (
	"context"
	"math"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// reminderMark opens a reminder. An output that already contains one, from us
// or from the harness, gets no second one.
const reminderMark = "<system-reminder>"

// A nudgeBaseline holds the figures of a pass from which nudges are decided.
type nudgeBaseline struct {
	// limitTokens is the model's prompt limit, or 0 if it is unknown. Without a known limit the host writes
	// no reminder, because reminders based on a guess would annoy.
	limitTokens int
	// thresholdPercent is the execute threshold in percent of the limit.
	thresholdPercent float64
	// inputTokens is the size of the last prompt as the provider reported it.
	inputTokens int
	// protectedTags is how many of the newest active units cannot be dropped.
	protectedTags int
}

// window returns the number of tokens up to the execute threshold.
func (b nudgeBaseline) window() int {
	return int(math.Round(float64(b.limitTokens) * b.thresholdPercent / 100))
}

// usable returns the space that the session may still use: the window minus everything that cannot be dropped
// or folded. That is mainly the system prompt and the tool definitions.
func (b nudgeBaseline) usable(p nudge.Pile) int {
	return max(0, b.window()-b.inputTokens+p.Live)
}

// pressure returns how much of the execute threshold is used. more is the number of tokens that came after
// the provider's last report.
func (b nudgeBaseline) pressure(more int) float64 {
	if b.limitTokens <= 0 || b.thresholdPercent <= 0 {
		return 0
	}
	return float64(b.inputTokens+more) / float64(b.limitTokens) * 100 / b.thresholdPercent
}

// nudging is the state of a session between two passes.
type nudging struct {
	// baseline is nil until a pass has set it.
	baseline *nudgeBaseline
	// pile is measured on first use and not by the pass: a pass looks only at new units, but the measurement
	// looks at all of them.
	pile *nudge.Pile
	// turnTokens is the size of the tool output since the pass.
	turnTokens int
	// hasReduced says that the model has used ctx_reduce since the pass.
	hasReduced bool
}

// setNudgeBaseline starts a new count at the end of a pass. It is cheap. If the session's model cannot drop
// anything, it sets no baseline.
func (s *session) setNudgeBaseline(b nudgeBaseline) {
	s.nudging = nudging{}
	if s.mode().Reduces {
		s.nudging.baseline = &b
	}
}

// measured returns the pile as it was after the pass.
func (s *session) measured() nudge.Pile {
	if s.nudging.pile == nil {
		p := nudge.Measure(s.pipe.State, s.nudging.baseline.protectedTags)
		s.nudging.pile = &p
	}
	return *s.nudging.pile
}

// canNudge reports whether a pass has left figures from which to decide.
func (s *session) canNudge() bool { return s.pipe != nil && s.nudging.baseline != nil }

// told returns the record of earlier reminders and of the nudge message. It reads the store only once.
func (h *Host) told(ctx context.Context, s *session) (store.NudgeRow, error) {
	if s.nudged == nil {
		row, err := h.Store.Nudge(ctx, s.key)
		if err != nil {
			return row, err
		}
		s.nudged = &row
	}
	return *s.nudged, nil
}

// ToolAfter appends a reminder to the output of a tool that has run, if one is
// due. This is safe for the cache: the model has not seen the output yet, and
// the harness stores it with the reminder. So the reminder busts nothing, and
// every later prompt contains it (bug class A22 in docs/defects.md).
func (h *Host) ToolAfter(ctx context.Context, c Client, p schema.ToolAfterParams) (schema.ToolAfterResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.ToolAfterResult{}, err
	}
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return schema.ToolAfterResult{}, err
	}
	defer s.unlock()
	if !s.canNudge() {
		return schema.ToolAfterResult{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout) // a tool is waiting
	defer cancel()
	text, err := h.remind(ctx, s, p)
	if err != nil { // report only failures: for most tools, success has written nothing to the store
		h.stored(err)
		h.Log.Warn("no reminder, the store does not answer", "session", key.Session, "error", err)
		return schema.ToolAfterResult{}, nil
	}
	if s.pipe.Codec.Vocabulary().ToolsFollowEvent {
		if err := h.considerNudgeMessage(ctx, c, s, true); err != nil {
			h.stored(err)
			h.Log.Warn("no nudge message, the store does not answer", "session", key.Session, "error", err)
		}
	}
	return schema.ToolAfterResult{Append: text}, nil
}

// remind counts a tool output and returns the reminder to append to it. It stores the reminder before it
// returns it.
func (h *Host) remind(ctx context.Context, s *session, p schema.ToolAfterParams) (string, error) {
	told, err := h.told(ctx, s)
	if err != nil {
		return "", err
	}
	if p.Tool == reduceTool {
		s.nudging.hasReduced = true
		_, err := h.swapCycle(ctx, s, nudge.Cycle{})
		return "", err
	}
	n := &s.nudging
	n.turnTokens += int(math.Round(float64(len(p.Output)) / pipeline.BytesPerToken)) // an estimate; the next pass counts the output exactly
	if n.hasReduced || strings.TrimSpace(p.Output) == "" || strings.Contains(p.Output, reminderMark) {
		return "", nil
	}
	pile, last := s.measured(), nudge.Cycle{Undropped: told.Cycle.Undropped, Level: nudge.Level(told.Cycle.Level)}
	if pile.Reclaimable < last.Undropped {
		last = nudge.Cycle{} // a pass has dropped the pile of the last reminder (bug class B19)
	}
	reading := nudge.Reading{
		Undropped: pile.Reclaimable + n.turnTokens, Pressure: n.baseline.pressure(n.turnTokens), Window: n.baseline.window(),
	}
	level, next := nudge.Remind(reading, last)
	if level != nudge.Quiet {
		// The next pass protects the outputs of this turn. So its pile will be smaller, although nothing was
		// dropped. The cycle therefore remembers the pile of the last pass, without this turn.
		next.Undropped = pile.Reclaimable
	}
	if swapped, err := h.swapCycle(ctx, s, next); err != nil || !swapped || level == nudge.Quiet {
		return "", err
	}
	h.Log.Debug("reminded", "session", s.key.Session, "pass", s.row.Passes, "level", level, "undroppedTokens", reading.Undropped)
	return reminder(level, reading.Undropped, pile.Oldest), nil
}

// swapCycle stores the last reminder. If another host has stored one in the meantime, it returns false. Only
// the database can detect that.
func (h *Host) swapCycle(ctx context.Context, s *session, next nudge.Cycle) (swapped bool, err error) {
	told, err := h.told(ctx, s)
	if err != nil {
		return false, err
	}
	to := store.NudgeCycle{Undropped: next.Undropped, Level: string(next.Level)}
	if to == told.Cycle {
		return true, nil
	}
	if swapped, err = h.Store.SwapNudgeCycle(ctx, s.key, told.Cycle, to); err != nil || !swapped {
		s.nudged = nil
		return false, err
	}
	s.nudged.Cycle = to
	return true, nil
}

// reminder returns the text of a reminder. It names the oldest tags that may be dropped.
func reminder(level nudge.Level, undropped int, oldest []nudge.Unit) string {
	return "\n\n" + nudgeText("nudge_"+string(level)+".md", undropped, oldest)
}

func nudgeText(file string, undropped int, oldest []nudge.Unit) string {
	data := struct {
		Thousands int
		Oldest    []nudge.Unit
	}{int(math.Round(float64(undropped) / 1000)), oldest}
	var b strings.Builder
	_ = guidance().ExecuteTemplate(&b, file, data) // the text is embedded and its data fits, so this cannot fail
	return strings.TrimSpace(b.String())
}
