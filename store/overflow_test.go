package store

import "testing"

func TestOverflowIsMarkedOnceAPass(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	must(t, s.CommitPass(ctx, commit(key, 1)))
	mark := func(pass int, at int64, want bool) {
		t.Helper()
		isNew, err := s.MarkOverflow(ctx, key, pass, at, 0)
		must(t, err)
		if isNew != want {
			t.Errorf("mark in pass %d is news: %t", pass, isNew)
		}
	}
	mark(1, now, true)
	mark(1, now+5, false)
	must(t, s.CommitPass(ctx, commit(key, 2))) // this commit's row was read earlier, so it lacks the value
	if got := load(t, s, key).Session; got.OverflowAt != now || got.OverflowPass != 1 {
		t.Errorf("overflow at %d in pass %d", got.OverflowAt, got.OverflowPass)
	}
	must(t, s.ClearOverflow(ctx, key))
	mark(1, now+9, false) // a late report of an overflow that has already been handled
	if got := load(t, s, key).Session.OverflowAt; got != 0 {
		t.Errorf("it came back: %d", got)
	}
	mark(2, now+10, true)
	if got := load(t, s, key).Session.OverflowAt; got != now+10 {
		t.Errorf("overflow at %d", got)
	}
}

func TestOverflowOfAnUnknownSessionIsIgnored(t *testing.T) {
	s := openIn(t, t.TempDir())
	isNew, err := s.MarkOverflow(t.Context(), key, 1, now, 0)
	must(t, err)
	if isNew {
		t.Error("a session that had no pass has an overflow")
	}
	must(t, s.ClearOverflow(t.Context(), key))
}
