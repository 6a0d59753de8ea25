package prompt

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/store"
)

// If a reminder is due, nudge tells the model how much tool output it could drop. The reminder is a note at the end of
// the newest unit. The provider has not seen this unit yet, so the note causes no bust. Every later wire must repeat
// the note (bug class A22 in docs/defects.md), because the harness never stores it.
func (pr *Prompts) nudge(ctx context.Context, ps *pass.Pass) {
	s, d, r := ps.Session, ps.Decision, ps.Readings
	if !s.Mode().Reduces || r.LimitTokens <= 0 || r.Threshold <= 0 { // a reminder that is based on a guess would annoy the model
		return
	}
	before, err := pr.told(ctx, s)
	if err != nil {
		pr.Guard.Wrote(err)
		pr.Log.Warn("the model is not told what it could drop, because the database does not answer", "session", s.Key.Session, "error", err)
		return
	}
	if slices.ContainsFunc(ps.Fresh, func(u frozen.Unit) bool { return u.Tool == mode.ReduceTool }) {
		reminders.Of(s).tell(store.NudgeRow{HasMessage: before.HasMessage})
		return
	}
	tag := s.Pipe.NotePlace()
	if tag == 0 {
		return
	}
	size := d.Size.Current
	if len(d.Edits) > 0 || d.Head != nil {
		size -= d.Price.Removed
	}
	window := min(int(math.Round(float64(r.LimitTokens)*r.Threshold/100)), history.PromptSize(ps.Config.Spending))
	pile := nudge.Measure(s.Pipe.State.With(d.Additions.Additions), r.Knobs.ProtectedTags)
	level, next := nudge.Remind(
		nudge.Reading{Undropped: pile.Reclaimable, Pressure: float64(size) / float64(window), Window: window},
		nudge.Cycle{Undropped: before.Undropped, Level: nudge.Level(before.Level)},
	)
	after := store.NudgeRow{Undropped: next.Undropped, Level: string(next.Level), HasMessage: before.HasMessage}
	file := "nudge_" + string(level) + ".md"
	switch {
	case !before.HasMessage && nudge.WantsMessage(pile.Reclaimable, window-size+pile.Live):
		file, after.HasMessage = "nudge_message.md", true
	case level == nudge.Quiet:
		reminders.Of(s).tell(after)
		return
	}
	reminders.Of(s).tell(after)
	ps.Note(tag, nudgeText(file, pile))
	pr.Log.Debug("told the model what it could drop", "session", s.Key.Session, "pass", s.Row.Passes+1,
		"text", file, "tag", tag, "undroppedTokens", pile.Reclaimable)
}

type reminded struct {
	// Until row is read, it is nil.
	row *store.NudgeRow
	// isNew means that no pass has stored row yet.
	isNew bool
}

var reminders = session.NewSlot[reminded]()

// told reads the store only once.
func (pr *Prompts) told(ctx context.Context, s *session.Session) (store.NudgeRow, error) {
	r := reminders.Of(s)
	if r.row == nil {
		row, err := pr.Store.Nudge(ctx, s.Key)
		if err != nil {
			return row, err
		}
		r.row = &row
	}
	return *r.row, nil
}

func (r *reminded) tell(row store.NudgeRow) {
	r.isNew = r.isNew || r.row == nil || row != *r.row
	r.row = &row
}

func (pr *Prompts) copyNudge(ctx context.Context, s *session.Session, original store.Key) error {
	row, err := pr.Store.Nudge(ctx, original)
	if err == nil {
		reminders.Of(s).tell(row)
	}
	return err
}

func nudgeText(file string, pile nudge.Pile) string {
	data := struct {
		Thousands int
		Oldest    []nudge.Unit
	}{int(math.Round(float64(pile.Reclaimable) / 1000)), pile.Oldest}
	var b strings.Builder
	_ = guidance().ExecuteTemplate(&b, file, data) // the text is embedded and its data fits, so this cannot fail
	return strings.TrimSpace(b.String())
}
