package store

import (
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
)

// tidier is the work of an agent that works for all sessions of a project.
var tidier = Work{"tidier", Subject{Project: project}}

func TestLeaseOfAProject(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	manual := s.clock.(*clock.Manual)
	is := func(what string, got bool, err error, want bool) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}
	acquire := func(w Work, holder string, want bool) {
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
	acquire(Work{"tidier", Subject{Project: "git:other"}}, "of another project", true)
	acquire(Work{"librarian", tidier.Subject}, "of another agent", true)
	acquire(Work{"tidier", Subject{Key: key}}, "of a session", true)
	acquire(HistorianOf(key), "historian", true)

	manual.Advance(LeaseTerm - time.Millisecond)
	renew("from ses_1", true)
	manual.Advance(LeaseTerm - time.Millisecond)
	acquire(tidier, "from ses_2", false)
	manual.Advance(time.Millisecond)
	renew("from ses_1", false)
	acquire(tidier, "from ses_2", true)
	renew("from ses_1", false)
	must(t, s.Leases.Release(t.Context(), tidier, "from ses_1")) // not its own
	renew("from ses_2", true)
	must(t, s.Leases.Release(t.Context(), tidier, "from ses_2"))
	acquire(tidier, "from ses_1", true)

	must(t, s.DeleteSession(t.Context(), key))
	renew("from ses_1", true)
	acquire(Work{"tidier", Subject{Key: key}}, "of a deleted session", false)
}

func TestPaceAndRunsOfAProject(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	run := RunRow{Status: RunFailed, Reason: "no answer", Model: "p/m", Usage: RunUsage{Usage: Usage{Input: 5}, Output: 1}, StartedAt: now - 9}
	retry := int64(now) + time.Hour.Milliseconds()
	must(t, s.Runs.SaveThrottle(t.Context(), tidier, `{"spent":7}`))
	must(t, s.Runs.Record(t.Context(), tidier, run, retry))
	must(t, s.DeleteSession(t.Context(), key))
	must(t, s.Close())

	s = openIn(t, dir)
	state, err := s.Runs.State(t.Context(), tidier)
	must(t, err)
	same(t, "state", state, WorkRow{Failures: 1, LastError: "no answer", FailedAt: now, Retry: retry, Throttle: `{"spent":7}`, Runs: 1, Usage: run.Usage})
	runs, err := s.Runs.Of(t.Context(), tidier, 0)
	must(t, err)
	run.Run, run.EndedAt = 1, now
	same(t, "runs", runs, []RunRow{run})
	for _, other := range []Work{HistorianOf(key), {"librarian", tidier.Subject}, {"tidier", Subject{Project: "git:other"}}} {
		state, err := s.Runs.State(t.Context(), other)
		must(t, err)
		same(t, other.String(), state, WorkRow{})
	}
}
