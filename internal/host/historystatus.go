package host

import (
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// The kinds of a run of the historian, as its record and the status name them.
const (
	kindIncremental = "incremental"
	kindRecomp      = "recomp"
	kindPartial     = "partial"
	kindWrapUp      = "wrapup"
)

// addWork adds the current run and an unfinished recomp to the status. It takes no session's lock.
func (h *Host) addWork(st *schema.HistoryStatus, s store.SessionReport) {
	sum := s.History
	if e := h.errands.of(s.Key); e != nil {
		st.Running = &schema.HistoryRun{Kind: e.kind, Since: e.started, Start: e.scope.Start, End: e.scope.End, Done: int(e.done.Load())}
	} else if sum.RunningSince > 0 {
		st.Running = &schema.HistoryRun{Kind: kindIncremental, Since: sum.RunningSince}
	}
	isRecomp := st.Running != nil && (st.Running.Kind == kindRecomp || st.Running.Kind == kindPartial)
	if staged := sum.Staged; staged != nil && staged.Done > 0 && !isRecomp {
		st.Unfinished = &schema.HistoryRun{Kind: kindRecomp, Start: 1, End: sum.Covered, Done: staged.Done}
		if staged.End > 0 {
			st.Unfinished.Kind, st.Unfinished.Start, st.Unfinished.End = kindPartial, staged.Start, staged.End
		}
	}
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
		part := history.Range{}
		if r.Kind == kindPartial {
			part = history.Range{Start: r.Start, End: r.End}
		}
		lines = append(lines, fmt.Sprintf("Unfinished: %s. /%s goes on.", runText(r), recompOf(part)))
	}
	if st.IsOverdue {
		lines = append(lines, fmt.Sprintf("Old messages have waited for %s to be summarised.", format.Count(st.Waited, "request")))
	}
	if r := st.Stopped; r != nil {
		noun := "recomp"
		if r.Kind == kindWrapUp {
			noun = "wrap-up"
		}
		lines = append(lines, fmt.Sprintf("The %s of messages %d-%d stopped %s ago: %s", noun, r.Start, r.End, format.AgeOf(r.At, now), format.Clean(r.Reason)))
	}
	if st.Failures > 0 {
		text := fmt.Sprintf("The historian has failed %s", format.InARow(st.Failures, format.AgeOf(st.FailedAt, now)))
		if st.Stopped == nil || st.Stopped.Reason != st.LastError { // else the line before says it
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
	case kindRecomp, kindPartial:
		return "recomp of " + messages
	case kindWrapUp:
		return "wrap-up of " + messages
	}
	return "new messages"
}
