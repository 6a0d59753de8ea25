package store

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/work"
)

func TestReportTellsHeadAndHistory(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	must(t, s.History.Publish(t.Context(), whole(t, s)))
	for n, reason := range []string{"first-head", "idle", "idle"} {
		c := fold(n + 2)
		c.Drained, c.Edits = nil, nil
		c.Pass.FoldReason, c.Pass.BaselineTokens, c.Pass.DeltaTokens = reason, 900, 9
		c.Head.FoldedPass, c.Head.FoldReason = n+2, reason
		must(t, s.CommitPass(t.Context(), c))
	}
	delta := commit(key, 5) // this pass renders only a new delta
	delta.Head = head(4)
	delta.Head.FoldedPass, delta.Head.FoldReason, delta.Head.DeltaTokens = 5, "", 77
	must(t, s.CommitPass(t.Context(), delta))
	must(t, s.Close())

	s = openIn(t, dir)
	r, found, err := s.Reports.Of(t.Context(), key)
	must(t, err)
	if !found {
		t.Fatal("the session is unknown")
	}
	same(t, "folds", r.FoldReasons, []schema.CauseCount{{Cause: "idle", Count: 2}, {Cause: "first-head", Count: 1}})
	same(t, "head", r.Head, &HeadRow{
		Epoch: 4, ThroughOrdinal: 9, BaselineSeq: 1, DeltaSeq: -1, BaselineTokens: 900, DeltaTokens: 77,
		Sections: `{"history":900}`, FoldedPass: 4, FoldedAt: now, FoldReason: "idle",
	})
	same(t, "history", r.History, historyOf(t, s))
	passes, err := s.Reports.Passes(t.Context(), key, 3, 1)
	must(t, err)
	if p := passes[0]; p.FoldReason != "idle" || p.BaselineTokens != 900 || p.DeltaTokens != 9 {
		t.Errorf("the journal says %q, %d and %d tokens", p.FoldReason, p.BaselineTokens, p.DeltaTokens)
	}
	passes, err = s.Reports.Passes(t.Context(), key, 4, 1)
	must(t, err)
	if passes[0].FoldReason != "" {
		t.Errorf("a pass without a fold has folded because of %q", passes[0].FoldReason)
	}
}

// Extractive compartments do not show that a model works.
func TestExtractionKeepsTheFailuresOfModels(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	next := 1
	publish := func(madeBy chronicle.MadeBy, problem string, retry int64) HistorySummary {
		t.Helper()
		c := compartment(next, next)
		c.MadeBy = madeBy
		next++
		p := publication(t, s, c)
		p.Problem, p.Retry = problem, retry
		must(t, s.History.Publish(t.Context(), p))
		return historyOf(t, s)
	}
	type failures struct {
		n         int
		last      string
		at        int64
		retry     int64
		extracted int
	}
	of := func(h HistorySummary) failures {
		return failures{h.Failures, h.LastError, h.FailedAt, h.Retry, h.Extracted}
	}
	for _, step := range []struct {
		madeBy  chronicle.MadeBy
		problem string
		retry   int64
		want    failures
	}{
		{chronicle.ByExtraction, "garbage", 7, failures{1, "garbage", now, 7, 1}},
		{chronicle.ByExtraction, "", 0, failures{1, "garbage", now, 7, 2}}, // no model was asked
		{chronicle.ByExtraction, "a refusal", 9, failures{2, "a refusal", now, 9, 3}},
		{"model", "", 0, failures{0, "", 0, 0, 3}},
		{chronicle.ByExtraction, "", 0, failures{0, "", 0, 0, 4}},
	} {
		h := publish(step.madeBy, step.problem, step.retry)
		if got := of(h); got != step.want {
			t.Errorf("after %s (%q): %+v, want %+v", step.madeBy, step.problem, got, step.want)
		}
	}
	h := historyOf(t, s)
	if h.Publishes != 5 || h.Extractive != 4 {
		t.Errorf("%d publications, %d extractive compartments, want 5 and 4", h.Publishes, h.Extractive)
	}
}

func TestLastPublishIsShownAfterAFailure(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	must(t, s.History.Publish(t.Context(), publication(t, s, compartment(1, 4))))
	must(t, s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Failed, Reason: "no answer", Pass: 1, StartedAt: now}, 3))
	h := historyOf(t, s)
	if h.LastRun.Run != 2 || h.LastPublish.Run != 1 || h.LastPublish.End != 4 {
		t.Errorf("last run %+v, last publication %+v", h.LastRun, h.LastPublish)
	}
}
