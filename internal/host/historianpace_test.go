package host

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func countingRuns(t *testing.T) (h *harness, runs *atomic.Int32) {
	runs = new(atomic.Int32)
	return answering(t, func(p schema.AgentRunParams) (string, error) {
		runs.Add(1)
		return good(p)
	}), runs
}

func (h *harness) readOn(id string, words, promptTokens int) schema.WireMutation {
	h.t.Helper()
	h.clock.Advance(time.Second)
	h.tool(id, strings.Repeat("line ", words), "tool-calls", promptTokens)
	m := h.pass()
	h.settle()
	return m
}

// In a long turn, the head shows a new compartment only at the force level. Until then, usage stays high although the
// compartment exists. This high usage must not start another run.
func TestHistoryThatWaitsForABustIsNoReasonForARun(t *testing.T) {
	h, runs := countingRuns(t)
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.readOn("s0", 300, 40_000)
	for i := 1; i <= 12; i++ {
		m := h.readOn(fmt.Sprintf("s%d", i), 300, 51_500+100*i) // 80 % to 83 %
		if m.Verdict != schema.Steady {
			t.Fatalf("step %d: %s pass (%s)", i, m.Verdict, m.Cause)
		}
	}
	rows := h.compartments()
	if len(rows) == 0 || int(runs.Load()) != len(rows) {
		t.Fatalf("%d runs made %+v", runs.Load(), rows)
	}
	for _, r := range rows {
		if r.End-r.Start < 3 {
			t.Errorf("a compartment of messages %d to %d", r.Start, r.End)
		}
	}
}

func TestPressureThatABustHasRelievedIsNoReasonForARun(t *testing.T) {
	h, runs := countingRuns(t)
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	for i := range 3 {
		h.readOn(fmt.Sprintf("s%d", i), 300, 48_000+500*i)
	}
	if runs.Load() == 0 {
		t.Fatal("no run before the bust")
	}
	before := runs.Load()
	m := h.readOn("s3", 300, 56_000) // 87 %
	if m.Cause != "force" || m.Start == 0 {
		t.Fatalf("%s pass (%s), tail at %d", m.Verdict, m.Cause, m.Start)
	}
	if after := runs.Load(); after != before {
		t.Errorf("%d runs after the bust", after-before)
	}
}

// One run takes only a part of a long history. The next pass begins another run, even without new messages.
func TestOneRunFollowsAnother(t *testing.T) {
	h, runs := countingRuns(t)
	h.talk(0, 60, 950, 40_000)
	h.user("now", "go on")
	for range 4 {
		h.pass()
		h.settle()
	}
	if rows := h.compartments(); len(rows) < 3 || int(runs.Load()) != len(rows) {
		t.Errorf("%d runs made %d compartments", runs.Load(), len(rows))
	}
}

func TestRunOfAClientThatLeavesPublishesNothing(t *testing.T) {
	h := answering(t, good)
	h.runAgent = func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
		return schema.AgentRunResult{}, fmt.Errorf("agent/run: %w", client.ErrClientLeft)
	}
	h.talk(0, 20, 950, 50_000) // 78 %
	h.user("now", "go on")
	h.pass()
	h.settle()
	if rows := h.compartments(); len(rows) > 0 {
		t.Errorf("published %+v", rows)
	}
	runs, err := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 10)
	if err != nil || len(runs) != 1 || runs[0].Status != work.Noop {
		t.Errorf("runs %+v, %v", runs, err)
	}
	h.runAgent = answering(t, good).runAgent
	h.readOn("s1", 300, 50_500)
	h.readOn("s2", 300, 51_000)
	if rows := h.compartments(); len(rows) == 0 || rows[0].MadeBy != "model" {
		t.Errorf("after the client has come back: %+v", rows)
	}
}

// A historian is so slow that a pass publishes an extract of its messages in the meantime. When the historian's run
// ends, these messages are already summarised. So the run counts as a failure, and the status gives the reason.
func TestOvertakenRunIsAFailure(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 8)
	h := answering(t, good)
	h.runAgent = func(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return schema.AgentRunResult{}, ctx.Err()
	}
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	<-begun
	h.talk(20, 1, 10, 62_000) // 97 %
	h.user("more", "go on")
	h.pass()
	h.settle()
	sum, err := h.store.History.Summary(t.Context(), testKey)
	if err != nil || sum.Failures != 1 || !strings.Contains(sum.LastError, "no time to wait for it") {
		t.Errorf("%d failures, the last one: %q, %v", sum.Failures, sum.LastError, err)
	}
	if rows := h.compartments(); len(rows) == 0 {
		t.Error("nothing is published")
	}
}
