package status

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// shownDrops is the number of dropped units that /ctx-status lists.
const shownDrops = 8

func (sb *Statuses) Describe(ctx context.Context, key store.Key) (schema.CommandExecuteResult, error) {
	report, found, err := sb.Store.Reports.Of(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	result := schema.CommandExecuteResult{Title: "magicctx", Variant: "info", Stays: true, Message: "This session has sent no request through magicctx yet."}
	if !found || report.Passes == 0 {
		return result, nil
	}
	st := sb.statusOf(ctx, report)
	if st.DroppedUnits, err = sb.droppedUnits(ctx, key); err != nil {
		return result, err
	}
	now := time.UnixMilli(sb.Clock.Now())
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
	case s.NextBust != nil && s.NextBust.Cost != nil: // this case has a price
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

// nextBustSentence says when the next bust is due, and how much it frees.
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
	case s.Threshold > 0 && s.Pressure >= s.Threshold && s.LastPrice != nil && !s.LastPrice.Bust:
		text = "as soon as it pays; " + text
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
	lines := []string{fmt.Sprintf("Dropped: %d of %s (%s tokens), %d waiting.", s.Dropped, format.Count(s.Units, "piece"), format.Tokens(s.Tokens.Dropped), s.Queued)}
	for i, u := range s.DroppedUnits {
		if i == shownDrops {
			more := len(s.DroppedUnits) - shownDrops
			return append(lines, fmt.Sprintf("… %d more: %s status %s --dropped", more, program.Name(), format.Clean(s.Session)))
		}
		lines = append(lines, pieceOf(u, now))
	}
	return lines
}

// historySentences describes the history of a session in a few lines. passes is the number of
// its passes.
func historySentences(st *schema.HistoryStatus, passes int, now time.Time) (lines []string) {
	if st == nil {
		return nil
	}
	text := "History: nothing is summarised yet."
	if st.Compartments > 0 {
		text = fmt.Sprintf("History: %s of messages 1-%d (%s tokens), fidelity %s.",
			format.Count(st.Compartments, "summary"), st.Covered, format.Tokens(st.RawTokens), format.Percent(st.Fidelity))
	}
	lines = append(lines, text)
	if r := st.Running; r != nil {
		lines = append(lines, fmt.Sprintf("The historian works: %s, for %s.", runText(r), format.AgeOf(r.Since, now)))
	}
	if r := st.Unfinished; r != nil {
		part := chronicle.Range{}
		if r.Kind == summary.KindPartial {
			part = chronicle.Range{Start: r.Start, End: r.End}
		}
		lines = append(lines, fmt.Sprintf("Unfinished: %s. /%s goes on.", runText(r), summary.RecompOf(part)))
	}
	if st.IsOverdue {
		lines = append(lines, fmt.Sprintf("Old messages have waited for %s to be summarised.", format.Count(st.Waited, "request")))
	}
	if r := st.Stopped; r != nil {
		noun := "recomp"
		if r.Kind == summary.KindWrapUp {
			noun = "wrap-up"
		}
		lines = append(lines, fmt.Sprintf("The %s of messages %d-%d stopped %s ago: %s", noun, r.Start, r.End, format.AgeOf(r.At, now), format.Clean(r.Reason)))
	}
	if st.Failures > 0 {
		text := fmt.Sprintf("The historian has failed %s", format.InARow(st.Failures, format.AgeOf(st.FailedAt, now)))
		if st.Stopped == nil || st.Stopped.Reason != st.LastError { // otherwise the previous line gives the reason
			text += ": " + format.Clean(st.LastError)
		} else {
			text += "."
		}
		if wait := st.RetryPass - passes; wait > 0 {
			text += fmt.Sprintf(" It tries again after %s, or at once if the window fills up.", format.Count(wait, "request"))
		}
		lines = append(lines, text)
	}
	return lines
}

// runText describes a run of the historian.
func runText(r *schema.HistoryRun) string {
	messages := format.Progress(r.Start, r.End, r.Done)
	switch r.Kind {
	case summary.KindRecomp, summary.KindPartial:
		return "recomp of " + messages
	case summary.KindWrapUp:
		return "wrap-up of " + messages
	}
	return "new messages"
}
