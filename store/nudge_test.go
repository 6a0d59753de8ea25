package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

func nudgeOf(t testing.TB, s *Store) NudgeRow {
	t.Helper()
	n, err := s.Nudge(t.Context(), key)
	must(t, err)
	return n
}

func TestReminderIsSwappedOnlyIfNobodyElseDid(t *testing.T) {
	s := openIn(t, t.TempDir())
	swap := func(from, to NudgeCycle, want bool) {
		t.Helper()
		swapped, err := s.SwapNudgeCycle(t.Context(), key, from, to)
		must(t, err)
		if swapped != want {
			t.Errorf("%+v to %+v: %t", from, to, swapped)
		}
	}
	first, second := NudgeCycle{20_000, "gentle"}, NudgeCycle{60_000, "firm"}
	swap(first, second, false)
	swap(NudgeCycle{}, first, true)
	swap(NudgeCycle{}, second, false)
	swap(first, second, true)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	same(t, "nudge", nudgeOf(t, s), NudgeRow{Cycle: second})
	must(t, s.DeleteSession(t.Context(), key))
	same(t, "nudge of a deleted session", nudgeOf(t, s), NudgeRow{})
}

func TestMessageIsClaimedByOne(t *testing.T) {
	s := openIn(t, t.TempDir())
	move := func(from, to string, want bool) {
		t.Helper()
		moved, err := s.MoveMessage(t.Context(), key, from, to)
		must(t, err)
		if moved != want {
			t.Errorf("%q to %q: %t", from, to, moved)
		}
	}
	claim := func(at int64) bool {
		t.Helper()
		claimed, err := s.ClaimMessage(t.Context(), key, at)
		must(t, err)
		return claimed
	}
	if claim(now) {
		t.Error("a message that nobody wants was claimed")
	}
	move(MessageNone, MessagePending, true)
	var claims atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if claim(now) {
				claims.Add(1)
			}
		})
	}
	all.Wait()
	if n := claims.Load(); n != 1 {
		t.Errorf("%d claimed it", n)
	}
	same(t, "nudge", nudgeOf(t, s), NudgeRow{Message: MessageClaimed, MessageClaimedAt: now})
	move(MessagePending, MessageNone, false) // a pass must not take the message away while another call sends it
	if claim(now + 119_999) {
		t.Error("a live claim was stolen")
	}
	if !claim(now + 120_000) {
		t.Error("a dead claim stayed")
	}
	move(MessageClaimed, MessageDelivered, true)
	move(MessageClaimed, MessagePending, false)
	if claim(now + 900_000) {
		t.Error("it is sent twice")
	}
}

// The answer to a message may arrive after its session was deleted.
func TestNothingBringsADeletedSessionBack(t *testing.T) {
	s := openIn(t, t.TempDir())
	for _, from := range []string{MessagePending, MessageClaimed} {
		moved, err := s.MoveMessage(t.Context(), key, from, MessageDelivered)
		must(t, err)
		if moved {
			t.Errorf("moved from %q", from)
		}
	}
	if _, found, err := s.Session(t.Context(), key); err != nil || found {
		t.Errorf("found %t, %v", found, err)
	}
}

func TestStaleClaimsAreHealedAtOpen(t *testing.T) {
	for at, want := range map[int64]string{0: MessagePending, now - 120_000: MessagePending, now - 119_999: MessageClaimed} {
		dir := t.TempDir()
		s := openIn(t, dir)
		_, err := s.MoveMessage(t.Context(), key, MessageNone, MessagePending)
		must(t, err)
		_, err = s.ClaimMessage(t.Context(), key, at)
		must(t, err)
		closeStore(t, s)
		if got := nudgeOf(t, openIn(t, dir)).Message; got != want {
			t.Errorf("claimed at %d, now %d: %q, want %q", at, now, got, want)
		}
	}
}
