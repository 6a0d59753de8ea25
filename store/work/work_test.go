package work_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/storetest"
	"github.com/magicctx/magicctx-host/store/work"
)

const now = storetest.Now

var key = storetest.Key

var tidier = of("tidier", work.Subject{Project: storetest.Project})

var session = work.Subject{Harness: key.Harness, Session: key.Session}

func of(agent string, subject work.Subject) work.Work {
	return work.Work{Agent: agent, Subject: subject}
}

func TestLeaseOfAProject(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	manual := s.Clock.(*clock.Manual)
	is := func(what string, got bool, err error, want bool) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}
	acquire := func(w work.Work, holder string, want bool) {
		t.Helper()
		got, err := s.Leases.Acquire(t.Context(), w, holder)
		is(holder+" acquires the lease of the "+w.String(), got, err, want)
	}
	renew := func(holder string, want bool) {
		t.Helper()
		got, err := s.Leases.Renew(t.Context(), tidier, holder)
		is(holder+" renews", got, err, want)
	}
	acquire(tidier, "from ses_1", true)
	acquire(tidier, "from ses_2", false)
	acquire(of("tidier", work.Subject{Project: "git:other"}), "of another project", true)
	acquire(of("librarian", tidier.Subject), "of another agent", true)
	acquire(of("tidier", session), "of a session", true)
	acquire(store.HistorianOf(key), "historian", true)

	manual.Advance(work.LeaseTerm - time.Millisecond)
	renew("from ses_1", true)
	manual.Advance(work.LeaseTerm - time.Millisecond)
	acquire(tidier, "from ses_2", false)
	manual.Advance(time.Millisecond)
	renew("from ses_1", false)
	acquire(tidier, "from ses_2", true)
	renew("from ses_1", false)
	storetest.Must(t, s.Leases.Release(t.Context(), tidier, "from ses_1")) // another holder's lease
	renew("from ses_2", true)
	storetest.Must(t, s.Leases.Release(t.Context(), tidier, "from ses_2"))
	acquire(tidier, "from ses_1", true)

	storetest.Must(t, s.DeleteSession(t.Context(), key))
	renew("from ses_1", true)
	acquire(of("tidier", session), "of a deleted session", false)
}

func TestPaceAndRunsOfAProject(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	run := work.RunRow{Status: work.Failed, Reason: "no answer", Model: "p/m", Usage: work.Usage{Input: 5, Output: 1}, StartedAt: now - 9}
	retry := int64(now) + time.Hour.Milliseconds()
	storetest.Must(t, s.Runs.SaveThrottle(t.Context(), tidier, `{"spent":7}`))
	storetest.Must(t, s.Runs.Record(t.Context(), tidier, run, retry))
	storetest.Must(t, s.DeleteSession(t.Context(), key))
	storetest.Must(t, s.Close())

	s = storetest.Open(t, dir)
	state, err := s.Runs.State(t.Context(), tidier)
	storetest.Must(t, err)
	storetest.Same(t, "state", state, work.State{Failures: 1, LastError: "no answer", FailedAt: now, Retry: retry, Throttle: `{"spent":7}`, Runs: 1, Usage: run.Usage})
	runs, err := s.Runs.Of(t.Context(), tidier, 0)
	storetest.Must(t, err)
	run.Run, run.EndedAt = 1, now
	storetest.Same(t, "runs", runs, []work.RunRow{run})
	for _, other := range []work.Work{store.HistorianOf(key), of("librarian", tidier.Subject), of("tidier", work.Subject{Project: "git:other"})} {
		state, err := s.Runs.State(t.Context(), other)
		storetest.Must(t, err)
		storetest.Same(t, other.String(), state, work.State{})
	}
}

func stateOf(t *testing.T, s *store.Store) work.State {
	t.Helper()
	state, err := s.Runs.State(t.Context(), store.HistorianOf(key))
	storetest.Must(t, err)
	return state
}

func TestLeaseIsForOneRun(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	manual := s.Clock.(*clock.Manual)
	acquires := func(holder string, want bool) {
		t.Helper()
		got, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), holder)
		if err != nil || got != want {
			t.Errorf("%q acquires the lease: %v, %v; want %v", holder, got, err, want)
		}
	}
	renews := func(holder string, want bool) {
		t.Helper()
		got, err := s.Leases.Renew(t.Context(), store.HistorianOf(key), holder)
		if err != nil || got != want {
			t.Errorf("%q renews the lease: %v, %v; want %v", holder, got, err, want)
		}
	}
	renews("", false)
	acquires("", false)
	acquires("a", true)
	if since := stateOf(t, s).RunningSince; since != now {
		t.Errorf("it runs since %d", since)
	}
	manual.Advance(time.Minute)
	acquires("b", false)
	acquires("a", true)
	if since := stateOf(t, s).RunningSince; since != now {
		t.Errorf("acquired again, it runs since %d", since)
	}
	storetest.Must(t, s.Leases.Release(t.Context(), store.HistorianOf(key), "b")) // another holder's lease
	renews("b", false)
	renews("a", true)
	manual.Advance(work.LeaseTerm)
	renews("a", false)
	if since := stateOf(t, s).RunningSince; since != 0 {
		t.Errorf("the lease has expired, and a run is there since %d", since)
	}
	acquires("b", true)
	acquires("a", false)
	storetest.Must(t, s.Leases.Release(t.Context(), store.HistorianOf(key), "b"))
	acquires("a", true)
	if acquired, err := s.Leases.Acquire(t.Context(), store.HistorianOf(store.Key{Harness: "opencode", Session: "unknown"}), "a"); acquired || err != nil {
		t.Errorf("an unknown session has a lease: %v", err)
	}
	if _, found, _ := s.Load(t.Context(), store.Key{Harness: "opencode", Session: "unknown"}); found {
		t.Error("a lease has made a session")
	}
}

func TestHeldLeaseLastsUntilItIsReleased(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	s.Leases.Hold()
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	manual := s.Clock.(*clock.Manual)
	for _, want := range []struct {
		holder string
		isHeld bool
	}{{"a", true}, {"b", false}} {
		if got, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), want.holder); err != nil || got != want.isHeld {
			t.Errorf("%q acquires the lease: %v, %v; want %v", want.holder, got, err, want.isHeld)
		}
		manual.Advance(1000 * work.LeaseTerm)
	}
	if isHeld, err := s.Leases.Renew(t.Context(), store.HistorianOf(key), "a"); err != nil || !isHeld {
		t.Errorf("the lease has expired: %v", err)
	}
	storetest.Must(t, s.Leases.Release(t.Context(), store.HistorianOf(key), "a"))
	if got, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), "b"); err != nil || !got {
		t.Errorf("a released lease is not free: %v", err)
	}
}

func TestOnlyTheNewestRunsAreKept(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	const keptRuns = 200
	for n := range keptRuns + 3 {
		storetest.Must(t, s.Runs.Record(t.Context(), store.HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Noop, Reason: fmt.Sprint(n + 1), StartedAt: now}, 0))
	}
	runs, err := s.Runs.Of(t.Context(), store.HistorianOf(key), 0)
	storetest.Must(t, err)
	if len(runs) != keptRuns || runs[0].Run != keptRuns+3 || runs[0].Reason != fmt.Sprint(keptRuns+3) || runs[keptRuns-1].Run != 4 {
		t.Errorf("%d runs are kept, the newest is %+v, the oldest %+v", len(runs), runs[0], runs[len(runs)-1])
	}
	if h := stateOf(t, s); h.Runs != keptRuns+3 {
		t.Errorf("%d runs are counted", h.Runs)
	}
	runs, err = s.Runs.Of(t.Context(), store.HistorianOf(key), 2)
	if err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
