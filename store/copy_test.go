package store

import (
	"slices"
	"testing"
)

// The original of a session is a session of the same directory that has a unit with the same fingerprint. OpenCode 2
// may continue a session that began under version 1. Such a session keeps its id, and its original is the session of
// version 1.
func TestOriginalsAreOfTheSameDirectory(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	commit := func(harness, session, directory string, at, fingerprint int64) {
		t.Helper()
		must(t, s.CommitPass(ctx, PassCommit{
			Session: SessionRow{Key: Key{harness, session}, Directory: directory, Mode: "primary", Passes: 1, LastPassAt: at, TagCounter: 1},
			Units:   []UnitRow{{Tag: 1, UnitKey: "k", MessageKey: "m", Kind: "text", Fingerprint: fingerprint}},
			Pass:    PassRow{Pass: 1, At: at, Verdict: "hard"},
		}))
	}
	commit("opencode", "older", "/p", 1, -7)
	commit("opencode", "newer", "/p", 2, -7)
	commit("opencode", "elsewhere", "/q", 3, -7)
	commit("pi", "other", "/p", 4, -7)
	commit("opencode", "unlike", "/p", 5, 8)
	commit("opencode", "none", "/p", 6, 0)
	keys, err := s.Originals(ctx, Key{"opencode", "copy"}, "/p", -7)
	if want := []Key{{"opencode", "newer"}, {"opencode", "older"}}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("%v, %v; want %v", keys, err, want)
	}
	keys, err = s.Originals(ctx, Key{"opencode2", "older"}, "/p", -7)
	if want := []Key{{"opencode", "older"}}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("under version 2: %v, %v; want %v", keys, err, want)
	}
	if keys, err := s.Originals(ctx, Key{"opencode", "copy"}, "/p", 0); err != nil || len(keys) > 0 {
		t.Errorf("without a fingerprint: %v, %v", keys, err)
	}
	if keys, err := s.Originals(ctx, Key{"opencode", "newer"}, "/p", -7); err != nil || len(keys) != 1 {
		t.Errorf("a session is its own original: %v, %v", keys, err)
	}
}

func TestInheritanceIsStoredWithItsPass(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	copied := Key{"opencode", "copy"}
	c := PassCommit{
		Session: SessionRow{Key: copied, Mode: "primary", Passes: 1, TagCounter: 2},
		Units:   []UnitRow{{Tag: 1, UnitKey: "a", MessageKey: "m", Kind: "text"}, {Tag: 1, UnitKey: "b", MessageKey: "m", Kind: "text"}},
		Edits:   []EditRow{{Tag: 1, Kind: "drop", Pass: 1}},
		Stamped: map[int]int64{1: 9},
		Inherited: &Inheritance{
			Queued: []DropRow{{Tag: 2, QueuedAt: 5}},
			System: SystemState{StickyDate: "today", StickyDateEpoch: 3, SystemHash: "h", SystemTokens: 4},
		},
		Pass: PassRow{Pass: 1, Verdict: "steady"},
	}
	if err := s.CommitPass(ctx, c); err == nil {
		t.Fatal("a tag was given twice")
	}
	if _, found, err := s.Load(ctx, copied); found || err != nil {
		t.Errorf("half a copy is stored: %v", err)
	}
	c.Units[1].Tag = 2
	must(t, s.CommitPass(ctx, c))
	snap, _, err := s.Load(ctx, copied)
	must(t, err)
	if snap.Session.System != c.Inherited.System || !slices.Equal(snap.Queued, c.Inherited.Queued) || snap.Units[0].Fingerprint != 9 {
		t.Errorf("stored %+v", snap)
	}
}
