package store

import (
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/work"
)

// A historyModel imitates the history of one session without SQL.
type historyModel struct {
	known          bool // whether the session is stored
	now            int64
	rows           []chronicle.Compartment
	staged         []chronicle.Compartment
	recomp         string
	start, end     int // the range of a partial recomp
	generation     int
	holder         string
	expires        int64
	cut            int
	failures       int
	runs           int
	publishes      int
	marker         string
	applied        string
	head           *HeadRow
	seen           map[string]int // how often each fact was seen, by its content
	pass           int
	headGeneration int
}

func (m *historyModel) held(holder string) bool { return m.holder == holder && m.expires > m.now }

func (m *historyModel) published(holder string, after HistoryEnd, last int) error {
	switch {
	case !m.known || !m.held(holder):
		return work.ErrLeaseLost
	case m.cut > 0 && last >= m.cut, after != m.after():
		return work.ErrStale
	}
	return nil
}

func (m *historyModel) after() HistoryEnd {
	end := HistoryEnd{Seq: len(m.rows), Ordinal: 1, Generation: m.generation}
	if n := len(m.rows); n > 0 {
		end.Ordinal = m.rows[n-1].End + 1
	}
	return end
}

func (m *historyModel) publish(p Publication, replaces bool) {
	if replaces {
		m.rows, m.staged, m.recomp, m.start, m.end = nil, nil, "", 0, 0
		m.generation++
	}
	m.rows = m.numbered(append(m.rows, p.Compartments...))
	m.failures, m.runs, m.publishes = 0, m.runs+1, m.publishes+1
	if p.Marker != "" {
		m.marker = p.Marker
	}
	for _, f := range p.Facts {
		m.seen[f.Content]++
	}
}

func (m *historyModel) numbered(rows []chronicle.Compartment) []chronicle.Compartment {
	for i := range rows {
		rows[i].Seq = i
		if rows[i].CreatedAt == 0 {
			rows[i].CreatedAt = m.now
		}
	}
	return rows
}

func (m *historyModel) invalidate(from int) (removed []chronicle.Compartment) {
	split := func(rows []chronicle.Compartment) (kept, gone []chronicle.Compartment) {
		for _, c := range rows {
			if c.End < from {
				kept = append(kept, c)
			} else {
				gone = append(gone, c)
			}
		}
		return kept, gone
	}
	m.rows, removed = split(m.rows)
	m.staged, _ = split(m.staged)
	if m.recomp == "partial" && m.end >= from {
		m.staged, m.recomp, m.start, m.end = nil, "", 0, 0
	}
	if len(removed) > 0 {
		m.generation++
	}
	if m.holder != "" && (m.cut == 0 || from < m.cut) {
		m.cut = from
	}
	return removed
}

func (m *historyModel) forget() { *m = historyModel{now: m.now, seen: m.seen} }

func drawRows(t *rapid.T, start, least int) (rows []chronicle.Compartment) {
	for range rapid.IntRange(least, 3).Draw(t, "compartments") {
		end := start + rapid.IntRange(0, 4).Draw(t, "length")
		rows = append(rows, compartment(start, end))
		start = end + 1
	}
	return rows
}

func TestHistoryEqualsTheModelAfterAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := options(t.TempDir())
		s, err := Open(t.Context(), o)
		ok(rt, err)
		defer func() { s.Close() }()
		m, ctx := &historyModel{now: now, seen: map[string]int{}}, t.Context()
		// Two runs alternate at random. So one run may change the history between the other run's start and
		// publication. Most steps belong to run "a", so that the histories become long.
		holders := rapid.SampledFrom([]string{"a", "a", "a", "b"})
		found := map[string]HistoryEnd{"a": {Ordinal: 1}, "b": {Ordinal: 1}}
		publish := func(rt *rapid.T, replaces bool) {
			holder := holders.Draw(rt, "holder")
			p := Publication{Key: key, Holder: holder, After: found[holder], Project: project, Run: work.RunRow{Kind: "incremental"}}
			if start := p.After.Ordinal; replaces {
				p.Compartments = drawRows(rt, 1, 1)
			} else {
				p.Compartments = drawRows(rt, start, 1)
			}
			last := p.Compartments[len(p.Compartments)-1]
			p.Facts = []chronicle.Fact{{Category: "NAMING", Content: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "fact")}}
			p.Marker = rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(rt, "marker")
			want, write := m.published(holder, p.After, last.End), s.History.Publish
			if replaces {
				write = s.History.Promote
			}
			if err := write(ctx, p); !errors.Is(err, want) || want == nil && err != nil {
				rt.Fatalf("publication ends with %v, want %v", err, want)
			}
			if want == nil {
				m.publish(p, replaces)
				found[holder] = m.after()
			}
		}
		pass := func(rt *rapid.T, head *HeadRow) {
			m.pass++
			c := PassCommit{Session: SessionRow{Key: key, Mode: "primary", Passes: m.pass}, Head: head, Pass: PassRow{Pass: m.pass, Verdict: "hard"}}
			ok(rt, s.CommitPass(ctx, c))
			m.known = true
			if head != nil {
				m.head, m.headGeneration = head, head.Generation
			}
		}
		pass(rt, nil)
		acquired, err := s.Leases.Acquire(ctx, HistorianOf(key), "a")
		if ok(rt, err); !acquired {
			rt.Fatal("a new session has a lease")
		}
		m.holder, m.expires = "a", m.now+work.LeaseTerm.Milliseconds()
		rt.Repeat(map[string]func(*rapid.T){
			"pass": func(rt *rapid.T) { pass(rt, nil) },
			"fold": func(rt *rapid.T) {
				head := head(rapid.IntRange(1, 9).Draw(rt, "epoch"))
				head.Generation = rapid.SampledFrom([]int{m.generation, m.generation, m.headGeneration}).Draw(rt, "generation")
				pass(rt, head)
			},
			"acquire": func(rt *rapid.T) {
				holder := holders.Draw(rt, "holder")
				want := m.known && (m.holder == "" || m.holder == holder || m.expires <= m.now)
				got, err := s.Leases.Acquire(ctx, HistorianOf(key), holder)
				if ok(rt, err); got != want {
					rt.Fatalf("acquired: %v, want %v", got, want)
				}
				if got {
					if m.holder != holder {
						m.cut = 0
					}
					m.holder, m.expires = holder, m.now+work.LeaseTerm.Milliseconds()
					found[holder] = m.after()
				}
			},
			"renew": func(rt *rapid.T) {
				holder := holders.Draw(rt, "holder")
				want := m.known && m.held(holder)
				got, err := s.Leases.Renew(ctx, HistorianOf(key), holder)
				if ok(rt, err); got != want {
					rt.Fatalf("renewed: %v, want %v", got, want)
				}
				if got {
					m.expires = m.now + work.LeaseTerm.Milliseconds()
				}
			},
			"release": func(rt *rapid.T) {
				holder := holders.Draw(rt, "holder")
				ok(rt, s.Leases.Release(ctx, HistorianOf(key), holder))
				if m.holder == holder {
					m.holder, m.expires, m.cut = "", 0, 0
				}
			},
			"time passes": func(rt *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 4).Draw(rt, "minutes")) * time.Minute
				o.Clock.(*clock.Manual).Advance(d)
				m.now += d.Milliseconds()
			},
			"publish": func(rt *rapid.T) { publish(rt, false) },
			"promote": func(rt *rapid.T) { publish(rt, true) },
			"stage": func(rt *rapid.T) {
				holder, st := holders.Draw(rt, "holder"), Staging{Compartments: drawRows(rt, 1, 0)}
				last, kind := 0, "full"
				if n := len(st.Compartments); n > 0 {
					last = st.Compartments[n-1].End
				}
				if rapid.Bool().Draw(rt, "partial") {
					st.Start, st.End, kind = 1, rapid.IntRange(1, 20).Draw(rt, "range end"), "partial"
				}
				want := m.published(holder, m.after(), max(last, st.End))
				if err := s.History.SaveStaging(ctx, key, holder, st); !errors.Is(err, want) || want == nil && err != nil {
					rt.Fatalf("staging ends with %v, want %v", err, want)
				}
				if want == nil {
					m.staged, m.recomp, m.start, m.end = m.numbered(st.Compartments), kind, st.Start, st.End
				}
			},
			"revert": func(rt *rapid.T) {
				from := rapid.IntRange(1, 40).Draw(rt, "from")
				removed, err := s.History.Withdraw(ctx, key, from)
				ok(rt, err)
				want := m.rows[:0:0]
				if m.known {
					want = m.invalidate(from)
				}
				if diff := gocmp.Diff(want, removed, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("removed (-want +got):\n%s", diff)
				}
			},
			"fail": func(rt *rapid.T) {
				ok(rt, s.Runs.Record(ctx, HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Failed, Reason: "r"}, 3))
				if m.known {
					m.failures++
					m.runs++
				}
			},
			"apply marker": func(rt *rapid.T) {
				done := rapid.SampledFrom([]string{"m1", "m2"}).Draw(rt, "done")
				ok(rt, s.Markers.SaveApplied(ctx, key, "applied "+done, done))
				if m.known {
					m.applied = "applied " + done
					if m.marker == done {
						m.marker = ""
					}
				}
			},
			"delete": func(rt *rapid.T) {
				ok(rt, s.DeleteSession(ctx, key))
				m.forget()
			},
			"restart": func(rt *rapid.T) {
				ok(rt, s.Close())
				s, err = Open(ctx, o)
				ok(rt, err)
				m.holder, m.expires, m.cut = "", 0, 0
			},
			"": func(rt *rapid.T) { checkHistory(t, rt, s, m) },
		})
	})
}

func checkHistory(t *testing.T, rt *rapid.T, s *Store, m *historyModel) {
	rows, end, err := s.History.Compartments(t.Context(), key)
	ok(rt, err)
	compare := func(what string, got, want any) {
		rt.Helper()
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	compare("compartments", rows, m.rows)
	compare("end", end, m.after())
	next := 1
	for i, c := range rows {
		if c.Seq != i || c.Start != next || c.End < c.Start {
			rt.Fatalf("compartment %d is number %d and covers %d-%d, where %d is next", i, c.Seq, c.Start, c.End, next)
		}
		next = c.End + 1
	}
	st, found, err := s.History.Staged(t.Context(), key)
	ok(rt, err)
	compare("is staged", found, m.recomp != "")
	compare("staged", st, Staging{Start: m.start, End: m.end, Compartments: m.staged})

	h := historyOf(t, s)
	compare("counts", []int{h.Compartments, h.Failures, h.Runs, h.Publishes}, []int{len(m.rows), m.failures, m.runs, m.publishes})
	compare("is running", h.RunningSince > 0, m.holder != "" && m.expires > m.now)
	compare("markers", []string{h.PendingMarker, h.AppliedMarker}, []string{m.marker, m.applied})
	compare("has a last run", h.LastRun != nil, m.runs > 0)

	snap, found, err := s.Load(t.Context(), key)
	ok(rt, err)
	compare("is stored", found, m.known)
	want := m.head
	if want != nil {
		head := *want
		head.Refold = head.Generation != m.generation
		want = &head
	}
	compare("head", snap.Head, want)

	compare("facts", seenIn(t, s), m.seen)
}
