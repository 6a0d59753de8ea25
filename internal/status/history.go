package status

import (
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func headStatus(s store.SessionReport) *schema.HeadStatus {
	if s.Head == nil {
		return nil
	}
	h := session.HeadFromRow(s.Head)
	if h.DeltaTokens <= tokens.Count(history.EmptyDelta) {
		h.DeltaTokens = 0 // the delta only says that nothing was added
	}
	return &schema.HeadStatus{
		Epoch: h.Fold, FoldPass: s.Head.FoldedPass, FoldedAt: h.FoldedAt, FoldReason: s.Head.FoldReason, Folds: s.FoldReasons,
		Through: h.Ordinal, Covered: h.Sections.Covered, Baseline: h.BaselineTokens, Delta: h.DeltaTokens,
		Sections: schema.HeadSections{
			Docs: h.Sections.Docs, Compartments: h.Sections.History, Memories: h.Sections.Memory, KeyFiles: h.Sections.KeyFiles,
		},
		InBaseline: h.InBaseline, InDelta: h.InDelta, Tiers: h.Sections.Tiers[:],
	}
}

// historyStatus returns nil if the session has no compartment, and no run of the historian has ended, is running, or
// has had to wait.
func historyStatus(s store.SessionReport) *schema.HistoryStatus {
	sum := s.History
	var throttle history.Throttle
	_ = json.Unmarshal([]byte(sum.Throttle), &throttle) // a throttle that another release wrote may be unreadable; then it starts from zero
	if sum.Runs == 0 && sum.Compartments == 0 && sum.RunningSince == 0 && throttle.Waited == 0 {
		return nil
	}
	st := &schema.HistoryStatus{
		Compartments: sum.Compartments, Extractive: sum.Extractive, RawTokens: sum.RawTokens, Fidelity: sum.Fidelity,
		Runs: sum.Runs, Publishes: sum.Publishes, Extracted: sum.Extracted, Usage: usageStatus(sum.Usage), Covered: sum.Covered,
		Failures: sum.Failures, LastError: format.Shorten(sum.LastError, maxShownPath), FailedAt: sum.FailedAt, RetryPass: int(sum.Retry),
		Waited: throttle.Waited, IsOverdue: throttle.IsOverdue(),
	}
	if sum.Compartments > 0 {
		st.Weakest = &sum.Weakest
	}
	if r := sum.LastRun; r != nil && r.Kind != summary.KindIncremental && r.Status != work.Success && r.Reason != summary.ReasonOf(summary.ErrCancelled) {
		st.Stopped = &schema.StoppedRun{Kind: r.Kind, At: r.EndedAt, Start: r.Start, End: r.End, Reason: format.Shorten(r.Reason, maxShownName)}
	}
	if sum.LastPublish != nil {
		last := PublishStatus(*sum.LastPublish)
		st.LastPublish = &last
	}
	return st
}

func PublishStatus(r work.RunRow) schema.HistoryPublish {
	return schema.HistoryPublish{
		Pass: r.Pass, At: r.EndedAt, Start: r.Start, End: r.End, Compartments: r.Produced, Fidelity: r.Fidelity,
		MadeBy: r.MadeBy, Model: format.Shorten(r.Model, maxShownName), Reason: format.Shorten(r.Reason, maxShownName), Usage: usageStatus(r.Usage),
		UnconfirmedQuotes: r.UnconfirmedQuotes, UnconfirmedFacts: r.UnconfirmedFacts,
	}
}

func usageStatus(u work.Usage) schema.HistorianUsage {
	return schema.HistorianUsage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// A user cannot do anything about a session that has ended. So overdue history causes a warning only if the
// session worked recently.
const recently = time.Hour

func historyWarnings(sessions []schema.SessionStatus, now int64) []schema.Warning {
	var all []schema.Warning
	for _, st := range sessions {
		h := st.History
		if h == nil || !h.IsOverdue || now-st.LastPassAt > recently.Milliseconds() {
			continue
		}
		text := fmt.Sprintf("the history of session %s has waited for %s to be summarised", st.Session, format.Count(h.Waited, "request"))
		if h.LastError != "" {
			text += "; the historian failed last because of: " + h.LastError
		}
		all = append(all, schema.Warning{Source: "history", Directory: st.Directory, Message: text})
	}
	return all
}

// addWork adds the current run, an unfinished recomp and a used-up budget. It takes no session's lock, so it never
// waits for a pass.
func (sb *Statuses) addWork(st *schema.HistoryStatus, s store.SessionReport) {
	sum := s.History
	st.Budget = sb.Budget(store.HistorianOf(s.Key))
	if st.Running = sb.History.Running(s.Key); st.Running == nil && sum.RunningSince > 0 {
		st.Running = &schema.HistoryRun{Kind: summary.KindIncremental, Since: sum.RunningSince}
	}
	isRecomp := st.Running != nil && (st.Running.Kind == summary.KindRecomp || st.Running.Kind == summary.KindPartial)
	if staged := sum.Staged; staged != nil && staged.Done > 0 && !isRecomp {
		st.Unfinished = &schema.HistoryRun{Kind: summary.KindRecomp, Start: 1, End: sum.Covered, Done: staged.Done}
		if staged.End > 0 {
			st.Unfinished.Kind, st.Unfinished.Start, st.Unfinished.End = summary.KindPartial, staged.Start, staged.End
		}
	}
}
