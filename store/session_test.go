package store

import (
	"testing"
)

func TestTagCounterNeverGoesBack(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 5)))
	p := commit(key, 6)
	p.Units, p.Session.TagCounter = nil, 1
	must(t, s.CommitPass(t.Context(), p))
	if got := load(t, s, key).Session.TagCounter; got != 10 {
		t.Errorf("tag counter is %d, want 10", got)
	}
}

func TestSessionsOfTwoHarnessesAreApart(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	other := Key{Harness: "pi", Session: key.Session}
	must(t, s.CommitPass(ctx, commit(key, 1)))
	must(t, s.CommitPass(ctx, commit(other, 1)))
	must(t, s.CommitPass(ctx, commit(other, 2)))
	must(t, s.RemoveMessages(ctx, other, []string{"msg_1"}))
	if n := len(load(t, s, key).Units); n != 2 {
		t.Errorf("opencode has %d units, want 2", n)
	}
	if n := len(load(t, s, other).Units); n != 2 {
		t.Errorf("pi has %d units, want 2", n)
	}
	must(t, s.DeleteSession(ctx, key))
	if n := len(load(t, s, other).Units); n != 2 {
		t.Errorf("pi has %d units after deleting the other, want 2", n)
	}
}

func TestDeleteSessionLeavesNoRow(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	p := commit(key, 1)
	p.Edits = []EditRow{{Tag: 1, Kind: "drop", Pass: 1}}
	must(t, s.CommitPass(ctx, p))
	must(t, s.QueueDrops(ctx, key, nil, []DropRow{{Tag: 2}}, ToolReplyRow{CallID: "c", Reply: "r"}))
	must(t, s.DeleteSession(ctx, key))
	must(t, s.DeleteSession(ctx, key))
	for _, table := range []string{"sessions", "units", "edits", "queued_drops", "tool_replies", "passes"} {
		var n int
		must(t, s.Writer().QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != 0 {
			t.Errorf("%s keeps %d rows", table, n)
		}
	}
}

func TestSessionsAreListedNewestFirst(t *testing.T) {
	s := openIn(t, t.TempDir())
	for i, id := range []string{"a", "b", "c"} {
		p := commit(Key{Harness: "pi", Session: id}, 1)
		p.Session.LastPassAt = int64([]int{2, 3, 1}[i])
		must(t, s.CommitPass(t.Context(), p))
	}
	got, _, err := s.Reports.All(t.Context(), 2)
	must(t, err)
	if len(got) != 2 || got[0].Key.Session != "b" || got[1].Key.Session != "a" {
		t.Errorf("got %+v", got)
	}
}

func TestSameUnitTwiceIsAnErrorAndStoresNothing(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	before := load(t, s, key)
	p := commit(key, 2)
	p.Units[1].UnitKey = unitKey(1)
	if err := s.CommitPass(t.Context(), p); err == nil {
		t.Fatal("a unit key was stored twice")
	}
	same(t, "snapshot", load(t, s, key), before)
}
