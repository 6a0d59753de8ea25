package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
)

// The expected hash was computed by the plugin whose memories can be imported.
func TestMemoryHashIgnoresCaseAndSpace(t *testing.T) {
	const want = "8e5fc0277367c7af987fb4ffb4a1a09a"
	for _, content := range []string{"use bun", "  Use   Bun\n", "USE\tBUN"} {
		if got := MemoryHash(content); got != want {
			t.Errorf("the hash of %q is %s, want %s", content, got, want)
		}
	}
	if MemoryHash("usebun") == want {
		t.Error("another content has the same hash")
	}
}

// learn publishes facts.
func learn(t *testing.T, s *Store, facts ...FactRow) {
	t.Helper()
	p := publication(t, s)
	p.Compartments = []CompartmentRow{compartment(p.After.Ordinal, p.After.Ordinal)}
	p.Project, p.Facts = project, facts
	must(t, s.History.Publish(t.Context(), p))
}

func memories(t *testing.T, s *Store, at int64) (contents []string) {
	t.Helper()
	m, err := s.Memories.Of(t.Context(), project, at)
	must(t, err)
	for _, r := range m.Memories {
		contents = append(contents, r.Content)
	}
	return contents
}

// The number of a project's memories is bounded, however many facts its sessions report. The store removes
// the memories that were not seen for the longest time, but never one that a user has kept.
func TestMemoriesOfAProjectAreBounded(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	facts := func(from, to int) (all []FactRow) {
		for n := from; n < to; n++ {
			all = append(all, FactRow{Category: "NAMING", Content: fmt.Sprint("fact ", n)})
		}
		return all
	}
	learn(t, s, facts(0, maxMemories)...)
	must(t, s.update(t.Context(), func(tx *transaction) error {
		_, err := tx.exec(`UPDATE memories SET status = 'permanent' WHERE content = 'fact 0'`)
		return err
	}))
	s.clock.(*clock.Manual).Advance(time.Minute)
	learn(t, s, facts(1, 2)...) // seen again
	s.clock.(*clock.Manual).Advance(time.Minute)
	learn(t, s, facts(maxMemories, maxMemories+10)...)
	got := memories(t, s, s.clock.Now())
	want := []string{"fact 0", "fact 1"}
	for n := range maxMemories - 1 {
		want = append(want, fmt.Sprint("fact ", n+11))
	}
	same(t, "memories", got, want)
}

func TestFactsBecomeMemoriesOnce(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	learn(t, s, FactRow{Category: "NAMING", Content: "Use Bun"}, FactRow{Category: "NAMING", Content: " \n"}, FactRow{Category: "RULES", Content: "use bun"})
	s.clock.(*clock.Manual).Advance(time.Minute)
	later := now + time.Minute.Milliseconds()
	learn(t, s, FactRow{Category: "NAMING", Content: "use  bun\n", Importance: 90})
	m, err := s.Memories.Of(t.Context(), project, later)
	must(t, err)
	row := MemoryRow{
		ID: 1, Project: project, Directory: directory, Category: "NAMING", Content: "Use Bun", Importance: 50, Source: "historian", LearnedIn: key, Status: "active",
		SeenCount: 2, SeenAt: later, CreatedAt: now, UpdatedAt: now,
	}
	other := row
	other.ID, other.Category, other.Content, other.SeenCount, other.SeenAt = 2, "RULES", "use bun", 1, now
	same(t, "memories", m, ProjectMemories{Memories: []MemoryRow{row, other}, MemoryID: 2})
	if m, err := s.Memories.Of(t.Context(), "another project", now); err != nil || len(m.Memories) > 0 || m.MemoryID > 0 {
		t.Errorf("another project knows %+v, %v", m, err)
	}
	must(t, s.DeleteSession(t.Context(), key))
	same(t, "without the session", memories(t, s, now), []string{"Use Bun", "use bun"})
}

func TestMemoriesExpire(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	learn(t, s, FactRow{Category: "A", Content: "short", ExpiresAt: now + 10}, FactRow{Category: "A", Content: "long", ExpiresAt: now + 10})
	same(t, "before", memories(t, s, now+9), []string{"short", "long"})
	same(t, "after", memories(t, s, now+10), []string(nil))
	learn(t, s, FactRow{Category: "A", Content: "short", ExpiresAt: now + 5}, FactRow{Category: "A", Content: "long", ExpiresAt: now + 20})
	same(t, "learned again", memories(t, s, now+10), []string{"long"})
	learn(t, s, FactRow{Category: "A", Content: "short"})
	learn(t, s, FactRow{Category: "A", Content: "short", ExpiresAt: now + 20})
	same(t, "learned without an end", memories(t, s, now+99), []string{"short"})
}

func TestChangesOfMemoriesAreLogged(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	learn(t, s, FactRow{Category: "A", Content: "one"}, FactRow{Category: "A", Content: "two"}, FactRow{Category: "A", Content: "three"}, FactRow{Category: "A", Content: "four"})
	changes := []MemoryChange{
		{ID: 1, Project: project, Kind: MemoryUpdate, Memory: 1, Category: "B", Content: "uno", At: now},
		{ID: 2, Project: project, Kind: MemoryArchive, Memory: 2, At: now},
		{ID: 3, Project: project, Kind: MemorySupersede, Memory: 3, SupersededBy: 1, At: now},
		{ID: 4, Project: project, Kind: MemoryDelete, Memory: 4, At: now},
	}
	for _, ch := range changes {
		must(t, s.Memories.Change(t.Context(), ch))
	}
	got, err := s.Memories.Changes(t.Context(), project, 0)
	must(t, err)
	same(t, "changes", got, changes)
	got, err = s.Memories.Changes(t.Context(), project, 3)
	must(t, err)
	same(t, "newest change", got, changes[3:])
	same(t, "memories", memories(t, s, now), []string{"uno"})
	m, err := s.Memories.Of(t.Context(), project, now)
	must(t, err)
	if m.MemoryID != 3 || m.ChangeID != 4 {
		t.Errorf("the newest memory is %d, the newest change %d", m.MemoryID, m.ChangeID)
	}

	before := contents(t, s)
	assertIs(t, s.Memories.Change(t.Context(), MemoryChange{Project: project, Kind: MemoryArchive, Memory: 4}), ErrUnknownMemory)
	assertIs(t, s.Memories.Change(t.Context(), MemoryChange{Project: "another", Kind: MemoryArchive, Memory: 1}), ErrUnknownMemory)
	assertIs(t, s.Memories.Change(t.Context(), MemoryChange{Project: project, Kind: MemoryUpdate, Memory: 1, Category: "A", Content: "TWO"}), ErrSameMemory)
	if err := s.Memories.Change(t.Context(), MemoryChange{Project: project, Kind: "other", Memory: 1}); err == nil {
		t.Error("an unknown change was stored")
	}
	same(t, "database", contents(t, s), before)

	learn(t, s, FactRow{Category: "A", Content: "two"}, FactRow{Category: "A", Content: "four"})
	same(t, "learned again", memories(t, s, now), []string{"uno", "four"}) // an archived memory stays archived
	if m, err := s.Memories.Of(t.Context(), project, now); err != nil || m.Memories[1].ID <= 4 {
		t.Errorf("the id of a deleted memory was given again: %+v, %v", m.Memories, err)
	}
}

// A change is kept as long as some head shows the memory as it was before the change.
func TestChangesThatEveryHeadShowsAreForgotten(t *testing.T) {
	s := openIn(t, t.TempDir())
	begin(t, s)
	learn(t, s, FactRow{Category: "A", Content: "one"})
	for _, content := range []string{"two", "three", "four"} {
		must(t, s.Memories.Change(t.Context(), MemoryChange{Project: project, Kind: MemoryUpdate, Memory: 1, Category: "A", Content: content}))
	}
	left := func(before int64) (n int) {
		t.Helper()
		must(t, s.Memories.ForgetChanges(t.Context(), before))
		changes, err := s.Memories.Changes(t.Context(), project, 0)
		must(t, err)
		return len(changes)
	}
	must(t, s.CommitPass(t.Context(), fold(2))) // shows changes up to 2
	if n := left(now); n != 3 {
		t.Errorf("%d young changes are left", n)
	}
	if n := left(now + 1); n != 1 {
		t.Errorf("%d changes are left, want only the one that the head does not show", n)
	}
	must(t, s.DeleteSession(t.Context(), key))
	if n := left(now + 1); n != 0 {
		t.Errorf("%d changes are left without a head", n)
	}
}
