package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// CommandRecomp replaces existing summaries with new ones, for example because another model writes better
// summaries.
const CommandRecomp = "ctx-recomp"

func (h *Historian) Recomp(ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	argument := strings.TrimSpace(p.Arguments)
	if argument == cancelArgument {
		return h.cancelRecomp(ctx, key)
	}
	part, err := rangeArgument(argument)
	if err != nil {
		return commandAnswer("", "", err)
	}
	return h.startErrand(ctx, c, key, p.Directory, func(ctx context.Context, s *session.Session) (*errand, string, error) {
		return h.prepareRecomp(ctx, s, p.Directory, part)
	})
}

// cancelArgument ends a command's errand, as in `/ctx-recomp cancel`.
const cancelArgument = "cancel"

// rangeArgument parses "12-40". The empty text gives the empty range.
func rangeArgument(text string) (r chronicle.Range, err error) {
	if text == "" {
		return r, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	var errFirst, errLast error
	r.Start, errFirst = strconv.Atoi(strings.TrimSpace(first))
	r.End, errLast = strconv.Atoi(strings.TrimSpace(last))
	if isRange && errors.Join(errFirst, errLast) == nil && 1 <= r.End && r.End < r.Start {
		return r, refusedCommand(fmt.Sprintf("Messages %s run backwards. Write /ctx-recomp %d-%d.", r, r.End, r.Start))
	}
	if !isRange || errFirst != nil || errLast != nil || r.Start < 1 || r.End < r.Start {
		return r, refusedCommand("Write /ctx-recomp for all summaries, /ctx-recomp 12-40 for those of messages 12 to 40, or /ctx-recomp cancel.")
	}
	return r, nil
}

// cancelRecomp ends the running recomp, and discards its staged compartments.
func (h *Historian) cancelRecomp(ctx context.Context, key store.Key) (schema.CommandExecuteResult, error) {
	const kept = "The old summaries stay."
	if h.errands.cancel(key, CommandRecomp) { // the errand discards its staged compartments when it ends
		return commandAnswer("info", "The recomp ends. "+kept, nil)
	}
	staged, found, err := h.Store.History.Staged(ctx, key)
	if err != nil {
		return commandAnswer("", "", err)
	}
	if !found || len(staged.Compartments) == 0 {
		return commandAnswer("info", "No recomp is under way.", nil)
	}
	err = h.Store.History.DiscardStaging(ctx, key)
	h.Guard.Wrote(err)
	return commandAnswer("info", "The unfinished recomp is discarded. "+kept, err)
}

// prepareRecomp returns a recomp of the compartments that hold messages of the range `part`. If `part` is empty, the
// recomp covers all compartments. If a recomp of the same range is already staged, the new one continues it. The caller
// holds the session's lock.
func (h *Historian) prepareRecomp(ctx context.Context, s *session.Session, directory string, part chronicle.Range) (*errand, string, error) {
	if usage := stateOf(s).usage; usage >= history.ForceUsage {
		return nil, "", refusedCommand(fmt.Sprintf("The window is %.0f%% full, so newer messages have to be summarised first. Try again after the next bust.", usage))
	}
	rows, end, err := h.Store.History.Compartments(ctx, s.Key)
	if err != nil {
		return nil, "", err
	}
	scope, err := enclosing(rows, part)
	if err != nil {
		return nil, "", err
	}
	r := recomp{scope: scope, end: end, rows: rows}
	if part != (chronicle.Range{}) {
		r.part = scope
	}
	isResumed, err := r.resume(ctx, h.Store, s.Key)
	if err != nil {
		return nil, "", err
	}
	next := 1
	if n := len(r.staged); n > 0 {
		next = r.staged[n-1].End + 1
	}
	e, err := h.newErrand(s, scope, next)
	if err != nil {
		return nil, "", err
	}
	if e.source, err = h.Sessions.SourceOf(ctx, s, directory); err != nil {
		return nil, "", err
	}
	r.errand = e
	e.noun, e.command, e.reason, e.kind = "recomp", CommandRecomp, KindRecomp, KindRecomp
	if r.part.End > 0 {
		e.kind = KindPartial
	}
	e.job.WithoutFacts, e.job.Memories = true, nil // the facts of these messages were published before
	e.job.References = referencesOf(r.staged)
	e.after = end
	e.yields = true // an urgent run may replace the recomp, because the old summaries still exist
	e.save, e.finish, e.kept = r.stage, r.promote, r.left
	e.discard = func(ctx context.Context) error { return h.Store.History.DiscardStaging(ctx, e.key) }
	return e, r.announcement(isResumed), nil
}

// A recomp stages the new compartments until they are complete, and then replaces the stored ones in one
// transaction. So a recomp that fails, or that is killed, changes nothing.
type recomp struct {
	*errand
	scope chronicle.Range
	// `part` is the range that the user asked for, or empty for a recomp of all compartments. `scope` is the same
	// range, extended to whole compartments.
	part chronicle.Range
	// `rows` are the compartments that were stored when the recomp began. The first message after them has the ordinal
	// `end.Ordinal`.
	rows []chronicle.Compartment
	end  store.HistoryEnd
	// `staged` begins with the stored compartments before the scope, which stay as they are. The new compartments
	// follow.
	staged []chronicle.Compartment
}

// enclosing returns the range from the first to the last compartment that holds a message of `part`. If `part` is
// empty, the range has all compartments.
func enclosing(rows []chronicle.Compartment, part chronicle.Range) (chronicle.Range, error) {
	if len(rows) == 0 {
		return part, refusedCommand("Nothing is summarised yet, so there is nothing to summarise again. /ctx-wrapup summarises now.")
	}
	all := chronicle.Range{Start: rows[0].Start, End: rows[len(rows)-1].End}
	if part == (chronicle.Range{}) {
		return all, nil
	}
	if part.Start > all.End {
		return part, refusedCommand(fmt.Sprintf("Messages %s are not summarised yet. The summaries are of messages %s.", part, all))
	}
	first := slices.IndexFunc(rows, func(r chronicle.Compartment) bool { return r.End >= part.Start })
	scope := chronicle.Range{Start: rows[first].Start}
	for _, r := range rows[first:] {
		if r.Start <= part.End {
			scope.End = r.End
		}
	}
	return scope, nil
}

// resume takes over the staged compartments of an interrupted recomp of the same range.
func (r *recomp) resume(ctx context.Context, from *store.Store, key store.Key) (isResumed bool, err error) {
	staged, found, err := from.History.Staged(ctx, key)
	if err != nil {
		return false, err
	}
	if found && len(staged.Compartments) > 0 {
		waiting := chronicle.Range{Start: staged.Start, End: staged.End}
		if waiting != r.part {
			return false, refusedCommand("An unfinished recomp waits. /" + RecompOf(waiting) + " goes on with it, /ctx-recomp cancel discards it.")
		}
		r.staged = staged.Compartments
		return true, nil
	}
	for _, row := range r.rows {
		if row.End < r.scope.Start {
			r.staged = append(r.staged, row)
		}
	}
	return false, nil
}

// RecompOf returns the command that summarises the messages of `part` again, or all messages if `part` is empty.
func RecompOf(part chronicle.Range) string {
	if part.End == 0 {
		return CommandRecomp
	}
	return fmt.Sprintf("%s %d-%d", CommandRecomp, part.Start, part.End)
}

func (r *recomp) announcement(isResumed bool) string {
	text := fmt.Sprintf("Messages %s are being summarised again, in the background.", r.scope)
	if isResumed {
		text = fmt.Sprintf("The recomp of messages %s goes on in the background: %s.", r.scope, r.progress())
	}
	return text + " The old summaries stay until all new ones are there. /ctx-status shows how far it is, /ctx-recomp cancel ends it."
}

func (r *recomp) stage(ctx context.Context, done historian.Result) error {
	for _, row := range compartmentsOf(done, r.raw, "") {
		if i := slices.IndexFunc(r.rows, func(old chronicle.Compartment) bool { return old.End >= row.End }); i >= 0 {
			row.AfterSummary = r.rows[i].AfterSummary
		}
		r.staged = append(r.staged, row)
	}
	writing, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	staging := store.Staging{Start: r.part.Start, End: r.part.End, Compartments: r.staged}
	if err := r.host.Store.History.SaveStaging(writing, r.key, r.holder, staging); err != nil {
		r.host.Guard.Wrote(err)
		return err
	}
	r.host.Log.Info("a chunk is summarised again", "session", r.key.Session, "to", done.Next-1, "compartments", len(done.Compartments), "fidelity", done.Fidelity(), "unconfirmed", done.Unconfirmed)
	return nil
}

// promote replaces the stored compartments with the new ones. The caller holds the session's lock.
func (r *recomp) promote(ctx context.Context, s *session.Session) (string, error) {
	before, made := 0, len(r.staged)
	all := slices.Clip(r.staged)
	for _, row := range r.rows {
		switch {
		case row.Start > r.scope.End:
			all = append(all, row)
		case row.End >= r.scope.Start:
			before++
		default:
			made--
		}
	}
	run := runRow(r.run, historian.Result{Attempts: r.attempts})
	run.Model = all[len(all)-1].Model
	err := r.host.Store.History.Promote(ctx, store.Publication{
		Key: r.key, Holder: r.holder, After: r.after, Compartments: all, Run: run,
	})
	if err != nil {
		return "", err
	}
	r.host.Log.Info("history is replaced", "session", r.key.Session, "cause", r.reason, "compartments", len(all), "to", all[len(all)-1].End)
	if s.Pipe != nil {
		if err := r.host.Sessions.RefreshChronicle(ctx, s); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Messages %s are summarised again: %s in place of %d. The next bust shows them; /ctx-flush makes one with your next message.",
		r.scope, format.Count(made, "summary"), before), nil
}

func (r *recomp) left() string {
	return "The old summaries stay. /" + RecompOf(r.part) + " goes on from there."
}
