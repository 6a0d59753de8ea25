package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
	"github.com/magicctx/magicctx-host/store/work"
)

func dream(t *testing.T, s *store.Store, dir, report string) {
	t.Helper()
	ctx, w := t.Context(), memories.DreamerOf(storetest.Project)
	started := s.Clock.Now()
	acquired, err := s.Leases.Acquire(ctx, w, "1.1")
	if err != nil || !acquired {
		t.Fatal(acquired, err)
	}
	cost := int64(chronicle.Dollar / 4)
	id, err := s.Calls.Reserve(ctx, w, "1.1", chronicle.Call{Model: "p/m"}, work.Spent{Money: 1, Tokens: 1}, nil)
	storetest.Must(t, err)
	storetest.Must(t, s.Calls.Settle(ctx, id, chronicle.Call{Model: "p/m", Cost: &cost}, work.Spent{Money: cost, Tokens: 9}))
	storetest.Advance(s, time.Second)
	var old chronicle.Memory
	storetest.Must(t, memories.Edit(ctx, dir, s.Clock.Now(), func(e *memories.Editor) (err error) {
		old, err = e.Reader().Memory("", 1)
		return err
	}))
	err = s.Memories.Tend(ctx, storetest.Project, "1.1", 0, []memories.Tended{{Old: []chronicle.Memory{old}, Reason: "volatile: gone"}}, func(int, []memories.Tended) string { return "" })
	storetest.Must(t, err)
	storetest.Advance(s, time.Second)
	storetest.Must(t, s.Runs.Record(ctx, w, work.RunRow{Status: work.Success, Reason: report, Model: "p/m", StartedAt: started, Usage: work.Usage{Input: 7, Output: 2}}, 0))
	storetest.Must(t, s.Leases.Release(ctx, w, "1.1"))
}

func TestARunIsShownAndUndone(t *testing.T) {
	s := serve(t).enter()
	db := storetest.Open(t, s.dir)
	s.remember("the zebra sleeps")
	dream(t, db, s.dir, "The dreamer has archived 1 memory.\x1b[2J")
	now := db.Clock.Now()
	failed := work.RunRow{Status: work.Failed, Reason: "no answer", Kind: "recomp", StartedAt: now}
	storetest.Must(t, db.CommitPass(t.Context(), storetest.Commit(1)))
	storetest.Advance(db, 90*time.Second)
	storetest.Must(t, db.Runs.Record(t.Context(), store.HistorianOf(storetest.Key), failed, 0))
	status, body := s.api("GET", "/api/agents", "")
	var got agentsPage
	if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	storetest.Same(t, "runs", got.Runs, []run{
		{At: now, Took: "90 s", Agent: "historian", Task: "write all summaries again", Of: storetest.Key.Session, Result: "failed", Report: "no answer", Tokens: "0", Money: "price unknown", Project: storetest.Project},
		{
			At: storetest.Now, Took: "2 s", Agent: "dreamer", Of: storetest.Directory, Result: "done", Report: "The dreamer has archived 1 memory.", Model: "p/m",
			Tokens: "9", Money: "$0.25", Undoes: 1, Project: storetest.Project,
		},
	})
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"project":"` + storetest.Project + `","run":7}`, http.StatusUnprocessableEntity, "7"},
		{`{"project":"other","run":1}`, http.StatusUnprocessableEntity, "1"},
		{`{`, http.StatusUnprocessableEntity, "read the number"},
		{`{"project":"` + storetest.Project + `","run":1}`, http.StatusOK, "the zebra sleeps"},
		{`{"project":"` + storetest.Project + `","run":1}`, http.StatusOK, "[]"},
	} {
		if status, body := s.api("POST", "/api/undo", step.body); status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: %d %s, want %d and %q", step.body, status, body, step.status, step.want)
		}
	}
	if _, body := s.api("GET", "/api/memories", ""); !strings.Contains(body, `"status":"active"`) {
		t.Errorf("the memory is not shown again: %s", body)
	}
	if _, body := s.api("GET", "/api/agents", ""); !strings.Contains(body, `"undoes":0`) || strings.Contains(body, `"undoes":1`) {
		t.Errorf("a run that was undone can be undone again: %s", body)
	}
}

// The store does not record to which run a call belongs. So if two runs overlap in a project, nobody can tell how much
// each of them cost, and the dashboard must show no cost.
func TestTheMoneyOfOverlappingRunsIsUnknown(t *testing.T) {
	s := serve(t).enter()
	db := storetest.Open(t, s.dir)
	s.remember("the zebra sleeps")
	dream(t, db, s.dir, "first")
	if _, body := s.api("GET", "/api/agents", ""); !strings.Contains(body, "$0.25") {
		t.Errorf("the run has no price: %s", body)
	}
	storetest.Must(t, db.Runs.Record(t.Context(), memories.DreamerOf(storetest.Project), work.RunRow{Status: work.Noop, StartedAt: storetest.Now}, 0))
	if _, body := s.api("GET", "/api/agents", ""); strings.Contains(body, "$0.25") {
		t.Errorf("an unknown share of the money is shown: %s", body)
	}
}

func TestNotesAreClosedAndOpenedAgain(t *testing.T) {
	s := serve(t).enter()
	storetest.Open(t, s.dir)
	storetest.Must(t, memories.Edit(t.Context(), s.dir, storetest.Now, func(e *memories.Editor) error {
		_, err := e.WriteNote(chronicle.Note{Project: storetest.Project, Content: "feed the zebra", Condition: "at night"})
		return err
	}))
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"id":1,"isDone":true}`, http.StatusOK, `"status":"done"`},
		{`{"id":1,"isDone":true}`, http.StatusUnprocessableEntity, `"status":"done"`},
		{`{"id":1}`, http.StatusOK, `"status":"pending"`},
		{`{"id":2,"isDone":true}`, http.StatusUnprocessableEntity, `"status":"pending"`},
		{`[`, http.StatusUnprocessableEntity, `"status":"pending"`},
	} {
		status, answered := s.api("POST", "/api/notes", step.body)
		if _, body := s.api("GET", "/api/agents", ""); status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: %d %s; then %s", step.body, status, answered, body)
		}
	}
}
