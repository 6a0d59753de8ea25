package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The function `link` adds the calls and results of the arcs to m. If an arc is open (`last` is 0), its call gets no
// result.
func link(m *Messages, arcs ...arc) *Messages {
	for _, a := range arcs {
		first := &m.Between(a.first, a.first+1)[0]
		first.Calls, first.Texts = append(first.Calls, Call{ID: first.Key, Tool: "bash", Asks: true}), nil
		if a.last != open {
			last := &m.Between(a.last, a.last+1)[0]
			last.Calls, last.Texts = append(last.Calls, Call{ID: first.Key, Answers: true}), nil
		}
	}
	return m
}

func TestArcsAcrossMessages(t *testing.T) {
	for _, c := range []struct {
		name       string
		roles      string
		sizes      []int
		arcs       []arc
		usage      float64
		start, end int
		isOversize bool
	}{
		{name: "no arc", roles: "uaaaaaaaau", sizes: []int{4000}, usage: 50, start: 7, end: 7},
		{name: "arc around the start, and its result would be the next start", roles: "uaaaaaaaau", sizes: []int{4000}, arcs: []arc{{6, 8}}, usage: 50, start: 9, end: 6},
		{name: "arc up to the newest message", roles: "uaaaaaaaua", sizes: []int{4000}, arcs: []arc{{6, 10}}, usage: 50, start: 6, end: 6},
		{name: "two arcs that overlap", roles: "uaaaaaaaau", sizes: []int{4000}, arcs: []arc{{5, 7}, {7, 9}}, usage: 50, start: 10, end: 5},
		{name: "live prompt inside an arc", roles: "uaaaaauaaaaa", sizes: []int{4000}, arcs: []arc{{5, 8}}, usage: 50, start: 5, end: 5},
		{name: "cap inside an arc", roles: "uauauauauauauauauaua", sizes: []int{4000}, arcs: []arc{{6, 7}}, usage: 50, start: 17, end: 6},
		{name: "first arc larger than the cap", roles: "uauauauauauauauauaua", sizes: []int{4000}, arcs: []arc{{1, 8}}, usage: 50, start: 17, end: 9, isOversize: true},
		{name: "huge message with a running call", roles: "uaaau", sizes: []int{1000, 1000, 1000, 90_000, 500}, arcs: []arc{{4, open}}, usage: 50, start: 4, end: 4},
		{name: "huge last message", roles: "uaa", sizes: []int{1000, 20_000, 90_000}, usage: 85, start: 3, end: 3},
	} {
		s := at(link(session(c.roles, c.sizes...), c.arcs...), c.usage).Snapshot(Request{})
		if s.TailStart != c.start || s.End != c.end || s.Oversize != c.isOversize {
			t.Errorf("%s: start %d, end %d, oversize %v; want %d, %d, %v (%s)", c.name, s.TailStart, s.End, s.Oversize, c.start, c.end, c.isOversize, s.Reason)
		}
	}
}

// A result answers the oldest open call with its id.
func TestArcsOfRepeatedIDs(t *testing.T) {
	m := session("aaaaa", 10)
	for i, c := range []Call{{Answers: true}, {Asks: true}, {Asks: true}, {Answers: true}, {Asks: true, Answers: true}} {
		c.ID = "same"
		m.list[i].Calls = []Call{c}
	}
	got := arcsOf(m)
	want := []arc{{2, 4}, {3, open}, {5, 5}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(arc{})); diff != "" {
		t.Error(diff)
	}
}

func TestTailDoesNotGrowFarBackToAPrompt(t *testing.T) {
	m := session("uaaaaaaaaaaaaaaau", 10_000) // the newest 96,000 tokens begin at 8
	s := Situation{Messages: m, Limit: 1_000_000, Threshold: 40, Usage: 10}.Snapshot(Request{})
	if s.Target != 96_000 || s.TailStart != 8 {
		t.Errorf("target %d, the tail begins at %d (%s), want 96000, 8", s.Target, s.TailStart, s.Reason)
	}
}

func TestWrapUp(t *testing.T) {
	for keep, want := range map[int]int{0: 9, 1: 9, 2: 7, 5: 1, 9: 1} {
		s := at(session("uauauauaua", 1000), 30).Snapshot(Request{Mode: WrapUp, KeepTurns: keep})
		if s.TailStart != want || s.End != want || s.IsRunnable() != (want > 1) {
			t.Errorf("keep %d turns: start %d, end %d, want %d", keep, s.TailStart, s.End, want)
		}
	}
	s := at(link(session("uauauauaua", 1000), arc{4, 9}), 30).Snapshot(Request{Mode: WrapUp, KeepTurns: 1})
	if s.TailStart != 4 {
		t.Errorf("arc across the turns: start %d, want 4", s.TailStart)
	}
}
