package store

import "testing"

func nudgeOf(t testing.TB, s *Store) NudgeRow {
	t.Helper()
	n, err := s.Nudge(t.Context(), key)
	must(t, err)
	return n
}

func TestNudgeIsStoredWithItsPass(t *testing.T) {
	s := openIn(t, t.TempDir())
	same(t, "nudge of a new session", nudgeOf(t, s), NudgeRow{})
	for pass, want := range []NudgeRow{{20_000, "gentle", false}, {60_000, "firm", true}, {HasMessage: true}} {
		c := commit(key, pass+1)
		c.Nudge = &want
		c.Units[0].Note = "\n\n<system-reminder>"
		must(t, s.CommitPass(t.Context(), c))
		same(t, "nudge", nudgeOf(t, s), want)
		snap, _, err := s.Load(t.Context(), key)
		must(t, err)
		same(t, "note", snap.Units[len(snap.Units)-len(c.Units)].Note, c.Units[0].Note)
	}
	must(t, s.CommitPass(t.Context(), commit(key, 4)))
	same(t, "nudge after a pass without one", nudgeOf(t, s), NudgeRow{HasMessage: true})
	must(t, s.DeleteSession(t.Context(), key))
	same(t, "nudge of a deleted session", nudgeOf(t, s), NudgeRow{})
}
