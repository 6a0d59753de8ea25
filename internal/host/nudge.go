package host

import (
	"context"
	"math"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// reminderMark opens a reminder. An output that has one, ours or the harness's,
// gets no other.
const reminderMark = "<system-reminder>"

// bytesPerToken estimates an output that is not counted yet: the next pass counts it.
const bytesPerToken = 4

// A nudgeBaseline is what a pass knows that nudges are decided on.
type nudgeBaseline struct {
	// limitTokens is the model's prompt limit, 0 when nobody knows: then nothing
	// is said, because a guess would nag.
	limitTokens int
	// thresholdPercent is the execute threshold in percent of the limit.
	thresholdPercent float64
	// inputTokens is the last prompt as the provider reported it.
	inputTokens int
	// protectedTags is how many of the newest active units cannot be dropped.
	protectedTags int
}

// window is the limit up to the execute threshold.
func (b nudgeBaseline) window() int {
	return int(math.Round(float64(b.limitTokens) * b.thresholdPercent / 100))
}

// usable is what the session may still fill: the window without what cannot be
// dropped or folded (the system prompt, tool definitions).
func (b nudgeBaseline) usable(p nudge.Pile) int {
	return max(0, b.window()-b.inputTokens+p.Live)
}

// pressure is the share of the execute threshold that is in use, with more
// tokens than the provider has reported.
func (b nudgeBaseline) pressure(more int) float64 {
	if b.limitTokens <= 0 || b.thresholdPercent <= 0 {
		return 0
	}
	return float64(b.inputTokens+more) / float64(b.limitTokens) * 100 / b.thresholdPercent
}

// nudging is what a session knows between two passes.
type nudging struct {
	// baseline is nil until a pass has set it.
	baseline *nudgeBaseline
	// pile is measured by whoever needs it first: a pass looks at new units only.
	pile *nudge.Pile
	// turnTokens is the output of the tools that ran since the pass.
	turnTokens int
	// hasReduced says that the model has used ctx_reduce since.
	hasReduced bool
}

// setNudgeBaseline begins what is counted since a pass, at its end. It costs
// nothing; a session whose model cannot drop anything has no baseline.
func (s *session) setNudgeBaseline(b nudgeBaseline) {
	s.nudging = nudging{}
	if mode(s.row.Mode).showsTags() {
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

// canNudge reports whether a pass has left something to decide on.
func (s *session) canNudge() bool { return s.pipe != nil && s.nudging.baseline != nil }

// told returns what the model was told, read once.
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

// ToolAfter appends a reminder to the output of a tool that has run, where one
// is due. Nobody has seen the output yet, and the harness stores what it gets,
// so that the reminder busts nothing and is there for ever (A22).
func (h *Host) ToolAfter(ctx context.Context, c Client, p schema.ToolAfterParams) (schema.ToolAfterResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.ToolAfterResult{}, err
	}
	s := h.sessions.lock(key)
	defer s.mu.Unlock()
	if !s.canNudge() {
		return schema.ToolAfterResult{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout) // a tool waits
	defer cancel()
	text, err := h.remind(ctx, s, p)
	if err != nil { // most tools write nothing, so their success says nothing
		h.stored(err)
		h.Log.Warn("no reminder, the store does not answer", "session", key.Session, "error", err)
		return schema.ToolAfterResult{}, nil
	}
	return schema.ToolAfterResult{Append: text}, nil
}

// remind counts an output and returns what to append to it. What is said is
// stored first.
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
	n.turnTokens += int(math.Round(float64(len(p.Output)) / bytesPerToken))
	if n.hasReduced || strings.TrimSpace(p.Output) == "" || strings.Contains(p.Output, reminderMark) {
		return "", nil
	}
	pile, last := s.measured(), nudge.Cycle{Undropped: told.Cycle.Undropped, Level: nudge.Level(told.Cycle.Level)}
	if pile.Reclaimable < last.Undropped {
		last = nudge.Cycle{} // a pass has dropped what the last reminder was about (B19)
	}
	reading := nudge.Reading{
		Undropped: pile.Reclaimable + n.turnTokens, Pressure: n.baseline.pressure(n.turnTokens), Window: n.baseline.window(),
	}
	level, next := nudge.Remind(reading, last)
	if level != nudge.Quiet {
		// The outputs of the turn are among the protected units of the next pass,
		// so that its pile is smaller without anything dropped: what it is
		// compared with is the pile of this one.
		next.Undropped = pile.Reclaimable
	}
	if swapped, err := h.swapCycle(ctx, s, next); err != nil || !swapped || level == nudge.Quiet {
		return "", err
	}
	h.Log.Debug("reminded", "session", s.key.Session, "pass", s.row.Passes, "level", level, "undroppedTokens", reading.Undropped)
	return reminder(level, reading.Undropped, pile.Oldest), nil
}

// swapCycle stores the last reminder. It fails to where another host has stored
// one meanwhile, which only the database knows.
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

// reminder is the text of a reminder, with the oldest tags that may go.
func reminder(level nudge.Level, undropped int, oldest []nudge.Unit) string {
	return "\n\n" + nudgeText("nudge_"+string(level)+".md", undropped, oldest)
}

func nudgeText(file string, undropped int, oldest []nudge.Unit) string {
	data := struct {
		Thousands int
		Oldest    []nudge.Unit
	}{int(math.Round(float64(undropped) / 1000)), oldest}
	var b strings.Builder
	_ = guidance.ExecuteTemplate(&b, file, data) // embedded, and its data fits: it cannot err
	return strings.TrimSpace(b.String())
}
