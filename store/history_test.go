package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/work"
)

func TestRevertRemovesExactlyTheCompartmentsWithoutTheirEnd(t *testing.T) {
	for _, test := range []struct{ from, left int }{
		{1, 0}, {4, 1}, {10, 3},
	} {
		s := openIn(t, t.TempDir())
		begin(t, s)
		rows := []chronicle.Compartment{compartment(1, 3), compartment(4, 6), compartment(7, 9)}
		p := publication(t, s, rows...)
		p.Project, p.Facts = project, []chronicle.Fact{{Category: "NAMING", Content: "x"}}
		must(t, s.History.Publish(t.Context(), p))
		rows = stored(rows...)
		must(t, s.Leases.Release(t.Context(), HistorianOf(key), runner))

		removed, err := s.History.Withdraw(t.Context(), key, test.from)
		must(t, err)
		same(t, fmt.Sprint("removed from ", test.from), removed, rows[test.left:])
		same(t, fmt.Sprint("left from ", test.from), compartments(t, s), rows[:test.left])
		m, err := s.Memories.Of(t.Context(), project, now)
		must(t, err)
		if len(m.Memories) != 1 {
			t.Errorf("from %d: memories are gone", test.from)
		}

		withdrawn, err := s.History.Withdrawn(t.Context(), key)
		must(t, err)
		var seqs []int
		for i := range withdrawn {
			if seqs = append(seqs, i); withdrawn[i].Seq != i {
				t.Errorf("from %d: withdrawn compartment %d has number %d", test.from, i, withdrawn[i].Seq)
			}
		}
		_, end, err := s.History.Compartments(t.Context(), key)
		must(t, err)
		if len(withdrawn) > 0 {
			if err := s.History.Restore(t.Context(), key, HistoryEnd{Seq: 9, Ordinal: 99}, seqs); !errors.Is(err, work.ErrStale) {
				t.Errorf("from %d: restored after an end that is not there: %v", test.from, err)
			}
			must(t, s.History.Restore(t.Context(), key, end, seqs))
		}
		same(t, fmt.Sprint("restored from ", test.from), compartments(t, s), rows)
		if withdrawn, err = s.History.Withdrawn(t.Context(), key); err != nil || len(withdrawn) > 0 {
			t.Errorf("from %d: %d compartments are still withdrawn, %v", test.from, len(withdrawn), err)
		}
		acquire(t, s, "next")
		next := publication(t, s)
		next.Holder, next.Compartments = "next", []chronicle.Compartment{compartment(next.After.Ordinal, 12)}
		must(t, s.History.Publish(t.Context(), next))
		must(t, s.Close())
	}
}

func TestRecompIsStagedAndPromoted(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	must(t, s.History.Publish(t.Context(), whole(t, s)))
	if _, found, err := s.History.Staged(t.Context(), key); found || err != nil {
		t.Errorf("there is a recomp: %v", err)
	}
	partial := Staging{Start: 7, End: 9, Compartments: stored(compartment(1, 6), compartment(7, 7))}
	must(t, s.History.SaveStaging(t.Context(), key, runner, partial))
	assertIs(t, s.History.SaveStaging(t.Context(), key, "another", Staging{}), work.ErrLeaseLost)
	must(t, s.Close())

	s = openIn(t, dir)
	got, found, err := s.History.Staged(t.Context(), key)
	if err != nil || !found {
		t.Fatalf("the recomp is lost: %v", err)
	}
	same(t, "staged", got, partial)
	same(t, "compartments", compartments(t, s), stored(compartment(1, 6), withScores(compartment(7, 9))))

	acquire(t, s, runner)
	p := publication(t, s, append(got.Compartments, compartment(8, 9))...)
	p.Run.Kind = "partial"
	s.Clock.(*clock.Manual).Advance(time.Minute)
	must(t, s.History.Promote(t.Context(), p))
	rows := stored(compartment(1, 6), compartment(7, 7), compartment(8, 9))
	rows[2].CreatedAt = now + time.Minute.Milliseconds() // the kept compartments keep their time
	same(t, "promoted", compartments(t, s), rows)
	if _, found, err := s.History.Staged(t.Context(), key); found || err != nil {
		t.Errorf("the recomp is still staged: %v", err)
	}
	if h := historyOf(t, s); h.Publishes != 2 || h.LastRun.Kind != "partial" {
		t.Errorf("history %+v", h)
	}

	must(t, s.History.SaveStaging(t.Context(), key, runner, Staging{Compartments: stored(compartment(1, 2))}))
	must(t, s.History.DiscardStaging(t.Context(), key))
	if _, found, err := s.History.Staged(t.Context(), key); found || err != nil {
		t.Errorf("the recomp was not discarded: %v", err)
	}
}

// The user reverts a session while a recomp is staging new compartments. Staged compartments that contain a removed
// message are deleted. If a removed message is in the range of a partial recomp, the recomp cannot continue, so all its
// staged compartments are deleted.
func TestRevertCutsTheStagedRecomp(t *testing.T) {
	staged := []chronicle.Compartment{compartment(1, 3), compartment(4, 6)}
	for _, test := range []struct {
		start, end, from, left int
		found                  bool
	}{
		{0, 0, 7, 2, true},
		{0, 0, 6, 1, true},
		{0, 0, 1, 0, true},
		{1, 8, 9, 2, true},
		{1, 8, 8, 0, false},
		{1, 8, 2, 0, false},
	} {
		s := openIn(t, t.TempDir())
		begin(t, s)
		must(t, s.History.SaveStaging(t.Context(), key, runner, Staging{Start: test.start, End: test.end, Compartments: staged}))
		_, err := s.History.Withdraw(t.Context(), key, test.from)
		must(t, err)
		got, found, err := s.History.Staged(t.Context(), key)
		must(t, err)
		if len(got.Compartments) != test.left || found != test.found {
			t.Errorf("%+v: %d compartments are staged, found %v", test, len(got.Compartments), found)
		}
		must(t, s.Close())
	}
}

func withScores(c chronicle.Compartment) chronicle.Compartment {
	c.Importance, c.Fidelity = 20, 0.25
	return c
}

func TestForkInheritsHistory(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	must(t, s.History.Publish(t.Context(), whole(t, s)))
	must(t, s.CommitPass(t.Context(), fold(2)))
	original := contents(t, s)
	fork := Key{"opencode", "fork"}
	rows := compartments(t, s)[:1]
	rows[0].Keys = []string{"msg_of_the_fork"}
	inherit := func(head *HeadRow) Snapshot {
		t.Helper()
		c := commit(fork, 1)
		c.Inherited = &Inheritance{Head: head, Compartments: rows}
		must(t, s.CommitPass(t.Context(), c))
		return load(t, s, fork)
	}
	snap := inherit(load(t, s, key).Head)
	same(t, "head", snap.Head, head(2))
	got, end, err := s.History.Compartments(t.Context(), fork)
	must(t, err)
	same(t, "compartments", got, rows)
	same(t, "end", end, HistoryEnd{Seq: 1, Ordinal: 7})
	h, err := s.History.Summary(t.Context(), fork)
	must(t, err)
	same(t, "history", h.HistoryRow, HistoryRow{})

	must(t, s.DeleteSession(t.Context(), fork))
	same(t, "original", contents(t, s), original)

	stale := load(t, s, key).Head
	stale.Refold = true // the fork lacks some compartments that the head shows
	if !inherit(stale).Head.Refold {
		t.Error("a head that needs a fold needs none in the fork")
	}
}

// A pending marker may be cleared only if it is still the newest one. A publication may have stored a newer marker in
// the meantime, which must stay.
func TestPendingMarkerIsClearedByItsOwnDrain(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	p := publication(t, s, compartment(1, 7))
	p.Marker = `{"endMessageId":"m7","ordinal":7,"publishedAt":5}`
	must(t, s.History.Publish(t.Context(), p))
	clears := func(marker string, want bool) {
		t.Helper()
		got, err := s.Markers.ClearPending(t.Context(), key, marker)
		if err != nil || got != want {
			t.Errorf("%s was cleared: %v, %v; want %v", marker, got, err, want)
		}
	}
	clears(`{"endMessageId":"m7","ordinal":7,"publishedAt":6}`, false)
	same(t, "markers", markers(t, s), []MarkerRow{{Key: key, Pending: p.Marker}})
	clears(p.Marker, true)
	clears("", false)
	same(t, "markers", markers(t, s), []MarkerRow(nil))

	next := publication(t, s, compartment(8, 9))
	next.Marker = `{"endMessageId":"m9","ordinal":9,"publishedAt":7}`
	must(t, s.History.Publish(t.Context(), next))
	must(t, s.Markers.SaveApplied(t.Context(), key, "at m7", p.Marker)) // an older publication's marker is set only now
	same(t, "markers", markers(t, s), []MarkerRow{{Key: key, Pending: next.Marker, Applied: "at m7"}})
	must(t, s.Markers.SaveApplied(t.Context(), key, "at m9", next.Marker))
	same(t, "markers", markers(t, s), []MarkerRow{{Key: key, Applied: "at m9"}})
	must(t, s.Markers.SaveApplied(t.Context(), key, "", ""))
	same(t, "markers", markers(t, s), []MarkerRow(nil))
	must(t, s.Markers.SaveApplied(t.Context(), Key{"opencode", "deleted"}, "at m1", ""))
	same(t, "markers", markers(t, s), []MarkerRow(nil))
}

func markers(t *testing.T, s *Store) []MarkerRow {
	t.Helper()
	rows, err := s.Markers.Of(t.Context(), "opencode")
	must(t, err)
	return rows
}

func TestFailuresAreCountedUntilASuccess(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	fail := func(reason string, retry int64) {
		t.Helper()
		must(t, s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{
			Kind: "incremental", Status: work.Failed, Reason: reason, Pass: 1, Start: 1, End: 9, StartedAt: now,
			Usage: work.Usage{Input: 5, Output: 1},
		}, retry))
	}
	fail("no answer", 4)
	s.Clock.(*clock.Manual).Advance(time.Second)
	fail("refused", 8)
	h := historyOf(t, s)
	same(t, "failures", []any{h.Failures, h.LastError, h.FailedAt, h.Retry}, []any{2, "refused", int64(now + 1000), int64(8)})
	must(t, s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Noop, Reason: "nothing to summarise", StartedAt: now}, 99))
	if h := historyOf(t, s); h.Failures != 2 || h.Retry != 8 {
		t.Errorf("a run without work counts as a failure: %+v", h)
	}
	must(t, s.History.Publish(t.Context(), publication(t, s, compartment(1, 9))))
	h = historyOf(t, s)
	if h.Failures != 0 || h.LastError != "" || h.FailedAt != 0 || h.Retry != 0 {
		t.Errorf("not cleared by a success: %+v", h)
	}
	same(t, "sums", []any{h.Runs, h.Publishes, h.Usage}, []any{4, 1, work.Usage{Input: 10, Output: 2}})

	fail("again", 1)
	must(t, s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{Status: work.Success}, 0))
	if h := historyOf(t, s); h.Failures != 0 {
		t.Errorf("not cleared by a success without a publication: %+v", h)
	}
	must(t, s.DeleteSession(t.Context(), key))
	fail("late", 1)
	if _, found, _ := s.Load(t.Context(), key); found {
		t.Error("a late run has brought its session back")
	}
}
