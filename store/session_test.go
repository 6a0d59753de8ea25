package store

import (
	"testing"
)

func TestEachWriterKeepsTheFieldsOfTheOthers(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	system := SystemState{StickyDate: "2026-11-20", StickyDateEpoch: 3, SystemHash: "cd", SystemTokens: 7}
	must(t, s.SaveSystem(ctx, key, system))
	must(t, s.RequestFlush(ctx, key, now))
	must(t, s.CommitPass(ctx, commit(key, 1))) // this commit's row was read earlier, so it lacks both values
	must(t, s.SaveUsage(ctx, key, 1, 1, 2, 3))
	must(t, s.CommitPass(ctx, commit(key, 2)))

	got := load(t, s, key).Session
	same(t, "system", got.System, system)
	if !got.ExplicitFlush {
		t.Error("the flush was forgotten by a pass that did not carry it out")
	}
	if got.InputTokens != 1 || got.CacheRead != 2 || got.CacheWrite != 3 {
		t.Errorf("usage was lost: %+v", got)
	}
	if got.Passes != 2 {
		t.Errorf("passes is %d", got.Passes)
	}

	third := commit(key, 3)
	third.FlushDone = true
	must(t, s.CommitPass(ctx, third))
	if load(t, s, key).Session.ExplicitFlush {
		t.Error("the flush outlived the pass that carried it out")
	}
}

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

func TestRemoveMessagesForgetsTheirUnits(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	must(t, s.CommitPass(ctx, commit(key, 1)))
	p := commit(key, 2)
	p.Edits = []EditRow{{Tag: 1, Kind: "drop"}, {Tag: 3, Kind: "drop"}}
	must(t, s.CommitPass(ctx, p))
	must(t, s.QueueDrops(ctx, key, nil, []DropRow{{Tag: 2}, {Tag: 4}}, ToolReplyRow{}))

	must(t, s.RemoveMessages(ctx, key, []string{"msg_1", "msg_unknown"}))

	got := load(t, s, key)
	same(t, "units", got.Units, p.Units)
	same(t, "edits", got.Edits, p.Edits[1:])
	same(t, "queued", got.Queued, []DropRow{{Tag: 4}})
	if got.Session.TagCounter != 4 {
		t.Errorf("tag counter is %d, want 4", got.Session.TagCounter)
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
