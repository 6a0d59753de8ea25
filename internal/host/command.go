package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// The commands that a user may type.
const (
	commandFlush  = "ctx-flush"
	commandStatus = "ctx-status"
)

var commands = []schema.CommandDefinition{
	{Name: commandFlush, Description: "Apply all queued context reductions and show new summaries with the next message"},
	{Name: commandRecomp, Description: "Summarise again what is summarised: all of it, or messages A-B. \"cancel\" ends it"},
	{Name: commandStatus, Description: "Show how full the context is, what was dropped and what waits to be reduced"},
	{Name: commandWrapUp, Description: "Summarise everything but the newest N turns now. \"cancel\" ends it"},
}

// CommandExecute runs a command for the user.
func (h *Host) CommandExecute(ctx context.Context, c client.Client, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	key, err := h.key(c, p.Session)
	if err != nil {
		return none, err
	}
	switch p.Command {
	case commandFlush:
		return h.flush(ctx, c, key, p.Directory)
	case commandStatus:
		return h.describe(ctx, key)
	case commandRecomp:
		return h.recomp(ctx, c, key, p)
	case commandWrapUp:
		return h.wrapUp(ctx, c, key, p)
	}
	return none, client.Invalid("there is no command %q", p.Command)
}

// flush makes the next pass bust, and describes that bust as it would be if the pass came now.
func (h *Host) flush(ctx context.Context, c client.Client, key store.Key, directory string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer s.Unlock()
	if err := h.Store.RequestFlush(ctx, key, h.Clock.Now()); err != nil {
		h.guard.Wrote(err)
		return none, err
	}
	s.Row.ExplicitFlush = true
	text := "The next request applies the queued reductions. How much that frees is not known: no request of this session has reached the host since it started."
	if s.Pipe != nil {
		text = h.forecastFlush(ctx, c, s, directory)
	}
	return schema.CommandExecuteResult{Title: "magicctx", Variant: "success", Message: text}, nil
}

// forecastFlush describes the bust that the next pass would make now. It asks the
// pipeline for that decision and throws the decision away.
func (h *Host) forecastFlush(ctx context.Context, c client.Client, s *session.Session, directory string) string {
	m := s.Pipe.Model()
	ps := &pass{h: h, s: s, at: h.Clock.Now(), config: h.clients.Config(s.Key.Harness, directory), params: schema.TransformParams{Directory: directory}}
	var err error
	if ps.limits, err = h.models.Limits(ctx, c, directory, m); err != nil {
		return "The next request applies the queued reductions." // nobody reads the answer
	}
	ps.window = h.models.Window(ctx, m, ps.limits)
	ps.life = h.models.CacheLife(ctx, s.Key.Harness, ps.config, m, ps.limits.NPM)
	d := s.Pipe.Decide(ps.read(ctx))
	waiting := len(s.Pipe.State.Queue()) - len(d.Drained)
	text := h.costOfBust(ctx, m, d)
	switch {
	case d.Head != nil && len(d.Edits) == 0:
		text = "The next request shows the new summaries. " + text
	case d.Head != nil:
		text = "The next request applies the queued reductions and shows the new summaries. " + text
	case d.Price.Removed > 0:
		text = "The next request applies the queued reductions. " + text
	}
	if d.Price.Removed <= 0 && d.Head == nil && waiting == 0 {
		text += h.wrapUpHint(ctx, ps)
	}
	if waiting > 0 {
		text += fmt.Sprintf(" Still queued, because among the newest or still running: %s.", format.Count(waiting, "piece"))
	}
	return text
}

// costOfBust describes how much a requested bust would free, and its cost.
func (h *Host) costOfBust(ctx context.Context, m schema.Model, d pipeline.Decision) string {
	switch {
	case d.Price.Removed <= 0 && d.Head == nil:
		return "There is nothing to free now."
	case d.Cause != pipeline.CauseFlush && d.Price.Removed > 0:
		return fmt.Sprintf("It frees about %s tokens and costs nothing: the cached prefix is gone anyway.", format.Tokens(d.Price.Removed))
	case d.Cause != pipeline.CauseFlush:
		return "It costs nothing: the cached prefix is gone anyway."
	}
	text := fmt.Sprintf("It frees about %s tokens and sends about %s again", format.Tokens(max(0, d.Price.Removed)), format.Tokens(d.Price.Resent))
	if cost := h.models.Facts(ctx, m).Rewriting(d.Price.Resent); cost != nil {
		text += ", which costs " + format.AboutDollars(*cost)
	}
	return text + "."
}

// shownDrops is the number of dropped units that /ctx-status lists.
const shownDrops = 8

func (h *Host) describe(ctx context.Context, key store.Key) (schema.CommandExecuteResult, error) {
	report, found, err := h.Store.ReportOf(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	result := schema.CommandExecuteResult{Title: "magicctx", Variant: "info", Stays: true, Message: "This session has sent no request through magicctx yet."}
	if !found || report.Passes == 0 {
		return result, nil
	}
	st := h.statusOf(ctx, report)
	if st.DroppedUnits, err = h.droppedUnits(ctx, key); err != nil {
		return result, err
	}
	now := time.UnixMilli(h.Clock.Now())
	lines := append(sentences(st, now), historySentences(st.History, st.Passes, now)...)
	lines = append(lines, dropsOf(st, now)...)
	result.Message = strings.Join(lines, "\n")
	return result, nil
}

// sentences describes a session in a few lines.
func sentences(s schema.SessionStatus, now time.Time) []string {
	size := "the window is unknown"
	if s.ContextTokens > 0 {
		size = fmt.Sprintf("%s of %s", format.Percent(s.Pressure), format.Tokens(s.ContextTokens))
	}
	lines := []string{fmt.Sprintf("Context: %s tokens (%s).", format.Tokens(s.InputTokens), size)}
	if n := s.NextBust; n != nil {
		lines = append(lines, "Next bust: "+nextBustSentence(s, n))
	}
	if b := s.LastBust; b != nil {
		text := fmt.Sprintf("Last bust: %s ago (%s)", format.AgeOf(b.At, now), format.Cause(b.Cause))
		if b.Removed > 0 {
			text += ", removed " + format.Tokens(b.Removed)
		}
		lines = append(lines, text+fmt.Sprintf("; %s in %s.", format.Count(s.Busts, "bust"), format.Count(s.Passes, "request")))
	}
	saved := "saving unknown, as this model has no price"
	switch {
	case s.Saved != nil:
		saved = format.Saving(s.Saved.Money)
	case s.NextBust != nil && s.NextBust.Cost != nil: // NextBust has a price
		saved = "saving not measured yet"
	}
	lines = append(lines, fmt.Sprintf("Cache hits: %s; %s.", format.Percent(s.CacheHitRate), saved))
	if text := format.Spending(string(s.Spending), s.Saved.RemovedEarly(), format.Carry(s.Carried.Value())); text != "" {
		lines = append(lines, "Spending: "+text+".")
	}
	if len(s.Removals) > 0 {
		sum := schema.SumOf(s.Removals)
		lines = append(lines, fmt.Sprintf("Read again: %s.", format.Regret(sum.Reread, sum.Tokens, s.RereadCost)))
	}
	if s.CacheLifeReason != "" {
		lines = append(lines, fmt.Sprintf("Cache life: %s (%s).", format.Span(time.Duration(s.CacheLifeMS)*time.Millisecond), s.CacheLifeReason))
	}
	return lines
}

// nextBustSentence says when the next bust comes, and what it does.
func nextBustSentence(s schema.SessionStatus, n *schema.NextBust) string {
	text := "it frees up to " + format.Tokens(n.Freed)
	switch {
	case n.IsAsked:
		return "with your next message, if there is something to free."
	case n.Waits:
		text = fmt.Sprintf("it waits, because it does not pay off yet; it would free about %s", format.Tokens(n.Freed))
		if n.Cost != nil {
			text += " and cost " + format.AboutDollars(*n.Cost)
		}
	case s.Threshold > 0 && s.Pressure >= s.Threshold:
		text = "due; " + text
	default:
		text = fmt.Sprintf("at %s%s; %s", format.Tokens(n.At), format.OrEarlier(s.Spending), text)
	}
	return text + "."
}

// pieceOf describes a dropped piece, for example "§6§ read main.go: 1.2k tokens, 3m ago, by the rule "stale output"".
func pieceOf(u schema.DroppedUnit, now time.Time) string {
	text := fmt.Sprintf("%s: %s tokens", format.Piece(u.Tag, cmp.Or(u.Tool, u.Kind), u.About), format.Tokens(u.Tokens))
	if u.At > 0 {
		text += ", " + format.AgeOf(u.At, now) + " ago"
	}
	if u.Rule != "" {
		text += ", " + u.Rule
	}
	return text
}

// dropsOf lists the newest dropped units.
func dropsOf(s schema.SessionStatus, now time.Time) []string {
	lines := []string{fmt.Sprintf("Dropped: %d of %s (%s tokens), %d queued.", s.Dropped, format.Count(s.Units, "piece"), format.Tokens(s.Tokens.Dropped), s.Queued)}
	for i, u := range s.DroppedUnits {
		if i == shownDrops {
			more := len(s.DroppedUnits) - shownDrops
			return append(lines, fmt.Sprintf("… %d more: %s status %s --dropped", more, program.Name(), format.Clean(s.Session)))
		}
		lines = append(lines, pieceOf(u, now))
	}
	return lines
}
