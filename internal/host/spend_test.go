package host

import (
	"context"
	"errors"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/work"
)

func (h *harness) booked() []chronicle.Call {
	h.t.Helper()
	calls, _, err := work.View(h.ctx, h.dir, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return calls
}

// A call is booked at the price of its model, together with the number of compartments and memories that came from it.
// It stays booked when its session is deleted.
func TestCallsAreBooked(t *testing.T) {
	h := answering(t, learning)
	h.limits.Price.Output = 5
	h.config.Historian.Model = "p/m"
	h.restart()
	h.talkLong()
	project := h.row().Project
	if err := h.store.DeleteSession(h.ctx, testKey); err != nil {
		t.Fatal(err)
	}
	calls := h.booked()
	if len(calls) != 1 {
		t.Fatalf("calls %+v", calls)
	}
	c := calls[0]
	// The historian `learning` reports 12,000 tokens at $1 per million, which is 1,000 billionths of a dollar for each,
	// and 100 tokens at $5 per million, which is 5,000 for each.
	if c.Cost == nil || *c.Cost != 12_000*1000+100*5000 {
		t.Errorf("cost %v", c.Cost)
	}
	if c.Input != 12_000 || c.Output != 100 || c.Model != "p/m" || c.Agent != "historian" || c.Project != project || project == "" || c.Directory != "/p" {
		t.Errorf("call %+v in project %q", c, project)
	}
	if c.Compartments != 1 || c.Memories != 1 {
		t.Errorf("%d compartments and %d memories", c.Compartments, c.Memories)
	}
}

// If no model has read a question, the question has cost nothing, so the host must not book it.
func TestRefusedCallsAreNotBooked(t *testing.T) {
	asked := 0
	h := answering(t, func(schema.AgentRunParams) (string, error) {
		asked++
		return "", errors.New("401 unauthorized")
	})
	h.talkLong()
	if calls := h.booked(); asked == 0 || len(calls) != 0 {
		t.Errorf("asked %d times, booked %+v", asked, calls)
	}
}

// If the budget is 0, the host asks no model, and reports no failure. When the window fills up, it publishes
// extracts.
func TestWithoutABudgetExtractsStandIn(t *testing.T) {
	asked := 0
	h := answering(t, func(p schema.AgentRunParams) (string, error) {
		asked++
		return good(p)
	})
	h.config.Budget.Historian.AtMost = 0
	h.restart()
	h.talkLong()
	st := h.sessionStatus()
	if len(h.compartments()) != 0 || st.History == nil || st.History.Budget == nil || st.History.Failures != 0 {
		t.Errorf("far from the limit: %d compartments, %+v", len(h.compartments()), st.History)
	}
	h.talk(20, 6, 950, 55_000)
	h.user("then", "go on")
	h.pass()
	h.settle()
	rows := h.compartments()
	if len(rows) == 0 || rows[0].MadeBy != chronicle.ByExtraction {
		t.Errorf("near the limit: %+v", rows)
	}
	if st := h.sessionStatus(); asked != 0 || len(h.booked()) != 0 || st.History.Failures != 0 || st.History.Extracted == 0 {
		t.Errorf("asked %d times, booked %+v, status %+v", asked, h.booked(), st.History)
	}
}

// The first question of a run fails, but the provider charges for it, because its model has read and written tokens. A
// later question succeeds. In an earlier version, the status left out the failed question, although the command `spend`
// said that the status includes it.
func TestBillHoldsFailedQuestions(t *testing.T) {
	h := answering(t, good)
	h.limits.Price = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}
	h.config.Historian.Model = "p/m"
	answer, asked := h.runAgent, 0
	h.runAgent = func(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
		result, err := answer(ctx, p)
		if asked++; asked == 1 {
			result.Failure = schema.AgentFailure{Reason: "error", Error: json.Quote("the agent has used up its 2 steps")}
		}
		return result, err
	}
	h.restart()
	h.host.history.Summarises = true
	h.talkLong()
	h.tool("b", "x", "tool-calls", 0)
	h.pass()
	if err := h.store.SaveUsage(t.Context(), testKey, 1, 9000, 0, 0); err != nil {
		t.Fatal(err)
	}
	var spent int64
	for _, c := range h.booked() {
		spent += *c.Cost
	}
	const question = 12_000*3000 + 100*15_000 // in billionths of a dollar
	st := h.status()
	one := st.Sessions[0]
	if asked != 2 || spent != 2*question || one.Saved == nil || one.Saved.Historian != float64(spent)/chronicle.Dollar || st.Saved.Historian != one.Saved.Historian {
		t.Fatalf("%d questions cost %d, the bill of the session has %+v, and of all sessions %+v", asked, spent, one.Saved, st.Saved)
	}
	if got := one.History.Usage; got.Input != 2*12_000 || got.Output != 2*100 {
		t.Errorf("the status names the tokens %+v", got)
	}
}
