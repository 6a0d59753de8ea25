package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

const (
	runner    = "run-1"
	project   = "git:4b825dc"
	directory = "/home/u/project"
)

func compartment(start, end int) chronicle.Compartment {
	return chronicle.Compartment{
		Start: start, End: end, Keys: []string{fmt.Sprint("msg_", start), fmt.Sprint("msg_", end)},
		Title: fmt.Sprintf("Work on %d-%d", start, end), Tiers: [4]string{"all of it", "most of it", "some of it", "a word"},
		Importance: 60, Episode: "bug_fix", Missing: "src/a.go", Rules: []chronicle.Rule{{Words: "Never push.", Message: start, Tiers: 2}}, Fidelity: 0.75, MadeBy: "model", Model: "anthropic/small", RawTokens: 100 * (end - start + 1),
	}
}

func stored(rows ...chronicle.Compartment) []chronicle.Compartment {
	for i := range rows {
		rows[i].Seq, rows[i].CreatedAt = i, now
	}
	return rows
}

func begin(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	acquire(t, s, runner)
}

func acquire(t testing.TB, s *Store, holder string) {
	t.Helper()
	acquired, err := s.Leases.Acquire(t.Context(), HistorianOf(key), holder)
	if err != nil || !acquired {
		t.Fatalf("%s got no lease: %v", holder, err)
	}
}

func publication(t testing.TB, s *Store, rows ...chronicle.Compartment) Publication {
	t.Helper()
	_, end, err := s.History.Compartments(t.Context(), key)
	must(t, err)
	return Publication{Key: key, Holder: runner, After: end, Compartments: rows, Run: work.RunRow{Kind: "incremental", Pass: 1, StartedAt: now - 9}}
}

func compartments(t testing.TB, s *Store) []chronicle.Compartment {
	t.Helper()
	rows, _, err := s.History.Compartments(t.Context(), key)
	must(t, err)
	return rows
}

func historyOf(t testing.TB, s *Store) HistorySummary {
	t.Helper()
	h, err := s.History.Summary(t.Context(), key)
	must(t, err)
	return h
}

// Every field has a value.
func whole(t testing.TB, s *Store) Publication {
	p := publication(t, s, compartment(1, 6), compartment(7, 9))
	p.Compartments[1].Importance, p.Compartments[1].Fidelity = 20, 0.25
	p.Project = project
	p.Facts = []chronicle.Fact{{Category: "NAMING", Content: " Use Bun "}, {Category: "NAMING", Content: "use  bun"}}
	p.Marker = `{"endMessageId":"msg_9","ordinal":9,"publishedAt":5}`
	p.Run.Model, p.Run.Usage = "anthropic/small", work.Usage{Input: 10, CacheRead: 20, CacheWrite: 30, Output: 40}
	return p
}

func TestPublicationIsStoredWhole(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	begin(t, s)
	must(t, s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Failed, Reason: "no answer", Pass: 1, StartedAt: now}, 4))
	must(t, s.Runs.SaveThrottle(t.Context(), HistorianOf(key), `{"spent":7}`))
	p := whole(t, s)
	must(t, s.History.Publish(t.Context(), p))
	must(t, s.Close())

	s = openIn(t, dir)
	same(t, "compartments", compartments(t, s), stored(p.Compartments...))
	m, err := s.Memories.Of(t.Context(), project, now)
	must(t, err)
	same(t, "memories", m, memories.OfProject{MemoryID: 1, Memories: []chronicle.Memory{{
		ID: 1, Project: project, Directory: directory, Category: "NAMING", Content: "Use Bun", Importance: 50, Source: chronicle.FromHistorian, Harness: key.Harness, Session: key.Session,
		Status: chronicle.MemoryIsActive, Seen: 2, SeenAt: now, CreatedAt: now, UpdatedAt: now,
	}}})
	h := historyOf(t, s)
	run := work.RunRow{
		Kind: "incremental", Status: work.Success, Pass: 1, Model: p.Run.Model, Usage: p.Run.Usage, StartedAt: now - 9, Start: 1, End: 9,
		MadeBy: "model", Produced: 2,
		Fidelity: (600*0.75 + 300*0.25) / 900, Run: 2, EndedAt: now,
	}
	same(t, "history", h, HistorySummary{
		HistoryRow: HistoryRow{
			State: work.State{Throttle: `{"spent":7}`, Runs: 2, Usage: p.Run.Usage}, PendingMarker: p.Marker, Publishes: 1,
		},
		Compartments: 2, Covered: 9, RawTokens: 900, Fidelity: run.Fidelity, Weakest: schema.CompartmentScore{Start: 7, End: 9, Fidelity: 0.25}, LastRun: &run, LastPublish: &run,
	})
}

// The bug: a run checked its lease, and only then began the transaction that stores its result. In between, another run
// could get the lease and summarise the same messages, and both results were stored.
func TestBugH33LeaseIsCheckedInTheTransaction(t *testing.T) {
	for name, test := range map[string]struct {
		lose func(t *testing.T, s *Store)
		want error
	}{
		"expired":  {func(t *testing.T, s *Store) { s.Clock.(*clock.Manual).Advance(work.LeaseTerm) }, work.ErrLeaseLost},
		"released": {func(t *testing.T, s *Store) { must(t, s.Leases.Release(t.Context(), HistorianOf(key), runner)) }, work.ErrLeaseLost},
		"taken over": {func(t *testing.T, s *Store) {
			s.Clock.(*clock.Manual).Advance(work.LeaseTerm)
			acquire(t, s, "run-2")
		}, work.ErrLeaseLost},
		"session deleted": {func(t *testing.T, s *Store) { must(t, s.DeleteSession(t.Context(), key)) }, work.ErrLeaseLost},
		"session deleted and used again": {func(t *testing.T, s *Store) {
			must(t, s.DeleteSession(t.Context(), key))
			must(t, s.CommitPass(t.Context(), commit(key, 1)))
		}, work.ErrLeaseLost},
		"other compartments": {func(t *testing.T, s *Store) {
			must(t, s.History.Publish(t.Context(), publication(t, s, compartment(1, 2))))
		}, work.ErrStale},
		"its messages were reverted": {func(t *testing.T, s *Store) {
			_, err := s.History.Withdraw(t.Context(), key, 9)
			must(t, err)
		}, work.ErrStale},
		"later messages were reverted": {func(t *testing.T, s *Store) {
			_, err := s.History.Withdraw(t.Context(), key, 10)
			must(t, err)
		}, nil},
		"renewed in time": {func(t *testing.T, s *Store) {
			s.Clock.(*clock.Manual).Advance(work.LeaseTerm - time.Millisecond)
			isHeld, err := s.Leases.Renew(t.Context(), HistorianOf(key), runner)
			if err != nil || !isHeld {
				t.Errorf("not renewed: %v", err)
			}
			s.Clock.(*clock.Manual).Advance(work.LeaseTerm - time.Millisecond)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := openIn(t, t.TempDir())
			begin(t, s)
			p := whole(t, s)
			test.lose(t, s)
			before := contents(t, s)
			if err := s.History.Publish(t.Context(), p); !errors.Is(err, test.want) {
				t.Fatalf("the publication ends with %v, want %v", err, test.want)
			}
			if test.want != nil {
				same(t, "database", contents(t, s), before)
			}
		})
	}
}

func TestPublicationMustBeWellFormed(t *testing.T) {
	for name, spoil := range map[string]func(*Publication){
		"no compartment":   func(p *Publication) { p.Compartments = nil },
		"gap":              func(p *Publication) { p.Compartments[1].Start++ },
		"overlap":          func(p *Publication) { p.Compartments[1].Start-- },
		"begins later":     func(p *Publication) { p.Compartments[0].Start = 2 },
		"ends before":      func(p *Publication) { p.Compartments[1].End = 5 },
		"unknown maker":    func(p *Publication) { p.Compartments[1].MadeBy = "someone" },
		"unknown kind":     func(p *Publication) { p.Run.Kind = "other" },
		"facts of nothing": func(p *Publication) { p.Project = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := openIn(t, t.TempDir())
			begin(t, s)
			p := whole(t, s)
			spoil(&p)
			before := contents(t, s)
			if err := s.History.Publish(t.Context(), p); err == nil {
				t.Error("it was stored")
			}
			same(t, "database", contents(t, s), before)
		})
	}
}

// A model may return any numbers.
func TestNumbersOfAModelAreClamped(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	nan := 0.0
	nan /= nan
	rows := []chronicle.Compartment{compartment(1, 1), compartment(2, 2), compartment(3, 3)}
	rows[0].Importance, rows[0].Fidelity = -5, -1
	rows[1].Importance, rows[1].Fidelity = 1<<40, 2
	rows[2].Importance, rows[2].Fidelity = 0, nan
	must(t, s.History.Publish(t.Context(), publication(t, s, rows...)))
	var importance []int
	var fidelity []float64
	for _, c := range compartments(t, s) {
		importance, fidelity = append(importance, c.Importance), append(fidelity, c.Fidelity)
	}
	same(t, "importance", importance, []int{1, 100, 1})
	same(t, "fidelity", fidelity, []float64{0, 1, 0})
}

func contents(t testing.TB, s *Store) (rows []string) {
	t.Helper()
	must(t, s.View(context.WithoutCancel(t.Context()), func(c *sqlite3.Conn) error {
		rows = rowsIn(t, c)
		return nil
	}))
	return rows
}

func rowsIn(t testing.TB, c *sqlite3.Conn) (rows []string) {
	t.Helper()
	var tables []string
	must(t, file.Scan(c, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`, func(row *sqlite3.Stmt) {
		tables = append(tables, row.ColumnText(0))
	}))
	for _, name := range tables {
		must(t, file.Scan(c, `SELECT * FROM `+name, func(row *sqlite3.Stmt) {
			text := name
			for i := range row.ColumnCount() {
				text += " " + row.ColumnText(i)
			}
			rows = append(rows, text)
		}))
	}
	return rows
}

func seenIn(t *testing.T, s *Store) map[string]int {
	t.Helper()
	seen := map[string]int{}
	must(t, s.View(t.Context(), func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT content, seen_count FROM memories`, func(row *sqlite3.Stmt) { seen[row.ColumnText(0)] = row.ColumnInt(1) })
	}))
	return seen
}
