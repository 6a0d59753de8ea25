package summary

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// CommandWrapUp summarises everything but the newest turns, for example before the user begins other work in
// the same session.
const CommandWrapUp = "ctx-wrapup"

// If the user gives no number, a wrap-up leaves out this number of the newest turns, because the user's next prompt
// most likely refers to them.
const keptTurns = 3

func (h *Historian) WrapUp(ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	argument := strings.TrimSpace(p.Arguments)
	if argument == cancelArgument {
		text := "No wrap-up is under way."
		if h.errands.cancel(key, CommandWrapUp) {
			text = "The wrap-up ends. Messages that it has summarised stay summarised."
		}
		return commandAnswer("info", text, nil)
	}
	keep := keptTurns
	if argument != "" {
		var err error
		if keep, err = strconv.Atoi(argument); err != nil || keep < 1 {
			return commandAnswer("", "", refusedCommand("Write /ctx-wrapup 2 to summarise everything but the newest 2 turns, or /ctx-wrapup cancel. At least one turn stays."))
		}
	}
	return h.startErrand(ctx, c, key, p.Directory, func(ctx context.Context, s *session.Session) (*errand, string, error) {
		return h.prepareWrapUp(ctx, s, keep)
	})
}

// The caller of prepareWrapUp holds the session's lock.
func (h *Historian) prepareWrapUp(ctx context.Context, s *session.Session, keep int) (*errand, string, error) {
	if s.Pipe == nil {
		return nil, "", refusedCommand("No request of this session has reached the host since it started, so it does not know the messages. Send a message first.")
	}
	uncovered, ok := h.Sessions.Uncovered(ctx, s)
	if !ok {
		return nil, "", refusedCommand("The conversation was compacted, and the harness's store does not say how many messages are missing. Nothing is summarised.")
	}
	scope, isRunnable := stateOf(s).wrapUpScope(uncovered, keep)
	if !isRunnable {
		return nil, "", refusedCommand(fmt.Sprintf("There is nothing to summarise in front of the newest %s.", format.Count(keep, "turn")))
	}
	e, err := h.newErrand(s, scope, scope.Start)
	if err != nil {
		return nil, "", err
	}
	w := wrapUp{errand: e, keep: keep}
	e.noun, e.command, e.reason, e.kind = "wrap-up", CommandWrapUp, KindWrapUp, KindWrapUp
	entries, raws := s.Pipe.Raw()
	e.source = session.InMemory(s.Pipe.Codec, entries, raws, s.Anchors())
	e.job.Chunk = historian.Chunk{Range: scope, Lines: linesOf(uncovered, scope)}
	e.summary, e.filler = s.Pipe.SummaryKey(), s.Filler()
	e.save, e.finish, e.kept = w.publish, w.show, w.left
	return e, fmt.Sprintf("Messages %s are being summarised, in the background, but not the newest %s. /ctx-status shows how far it is, /ctx-wrapup cancel ends it.",
		scope, format.Count(keep, "turn")), nil
}

// wrapUpScope returns the messages that a wrap-up would summarise. If there are none, isRunnable is false.
func (w *passFacts) wrapUpScope(uncovered pipeline.Uncovered, keep int) (scope chronicle.Range, isRunnable bool) {
	situation := w.situation(uncovered)
	snapshot := situation.Snapshot(history.Request{Mode: history.WrapUp, KeepTurns: keep})
	return chronicle.Range{Start: snapshot.Start, End: snapshot.TailStart - 1}, snapshot.IsRunnable()
}

// If a wrap-up would free space now, WrapUpHint returns a sentence that tells the user so. Otherwise, it returns "".
// The caller holds the session's lock.
func (h *Historian) WrapUpHint(ctx context.Context, ps *pass.Pass) string {
	if !h.summarises(ps) || stateOf(ps.Session).running != nil {
		return ""
	}
	uncovered, ok := h.Sessions.Uncovered(ctx, ps.Session)
	if !ok {
		return ""
	}
	scope, isRunnable := stateOf(ps.Session).wrapUpScope(uncovered, keptTurns)
	if !isRunnable {
		return ""
	}
	return fmt.Sprintf(" /%s would free space: it summarises messages %s, and keeps the newest %s.", CommandWrapUp, scope, format.Count(keptTurns, "turn"))
}

func linesOf(u pipeline.Uncovered, r chronicle.Range) (lines []chronicle.Place) {
	for _, m := range u.Messages.Between(r.Start, r.End+1) {
		lines = append(lines, chronicle.Place{Ordinal: m.Ordinal, Key: m.Key})
	}
	return lines
}

// A wrapUp publishes the summary of each chunk as soon as it is written. After the last one, it makes the next pass
// show all of them.
type wrapUp struct {
	*errand
	keep int
}

func (w *wrapUp) publish(ctx context.Context, done historian.Result) error {
	h := w.host
	s, err := h.Sessions.Lock(ctx, w.key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	if err := pass.Ended(ctx, "publish"); err != nil { // a pass has already published an extract and freed space
		return err
	}
	writing, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	done.Attempts = w.attempts // the cost includes the failed attempts
	step := *w.run
	step.job.Chunk, step.job.Raw = w.chunk, func() []historian.Message { return w.raw }
	if _, step.after, err = h.Store.History.Compartments(writing, w.key); err != nil {
		return err
	}
	if err := h.publishHistory(writing, s, &step, done); err != nil {
		return err
	}
	w.attempts = nil
	return nil
}

// show makes the next pass bust, so that the prompt contains the new summaries. The caller holds the session's lock.
func (w *wrapUp) show(ctx context.Context, s *session.Session) (string, error) {
	if err := w.host.Store.RequestFlush(ctx, w.key, w.host.Clock.Now()); err != nil {
		return "", err
	}
	s.Row.ExplicitFlush = true
	return fmt.Sprintf("Messages %s are summarised. Your next message is sent with the summaries and the newest %s.", w.scope, format.Count(w.keep, "turn")), nil
}

func (w *wrapUp) left() string {
	if done := int(w.done.Load()); done >= w.scope.Start {
		return fmt.Sprintf("Messages %d-%d are summarised, and the next bust shows them. The others stay as they were.", w.scope.Start, done)
	}
	return "Nothing was changed."
}
