package memories_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
)

const (
	now       = storetest.Now
	project   = storetest.Project
	directory = storetest.Directory
)

var key = storetest.Key

// learn stores facts of the session key.
func learn(t *testing.T, s *store.Store, project string, facts ...chronicle.Fact) {
	t.Helper()
	storetest.Must(t, s.Update(t.Context(), func(tx *database.Tx) error {
		return memories.Learn(tx, project, facts, key.Harness, key.Session, s.Clock.Now())
	}))
}

// seenIn counts how often each memory was learned.
func seenIn(t *testing.T, s *store.Store) map[string]int {
	t.Helper()
	seen := map[string]int{}
	storetest.Must(t, s.View(t.Context(), func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT content, seen_count FROM memories`, func(row *sqlite3.Stmt) { seen[row.ColumnText(0)] = row.ColumnInt(1) })
	}))
	return seen
}

func contentsOf(t *testing.T, s *store.Store, at int64) (contents []string) {
	t.Helper()
	m, err := s.Memories.Of(t.Context(), project, at)
	storetest.Must(t, err)
	for _, r := range m.Memories {
		contents = append(contents, r.Content)
	}
	return contents
}

// The number of a project's memories is bounded, however many facts its sessions report. The store removes
// the memories that were not seen for the longest time, but never one that a user has kept.
func TestMemoriesOfAProjectAreBounded(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	facts := func(from, to int) (all []chronicle.Fact) {
		for n := from; n < to; n++ {
			all = append(all, chronicle.Fact{Category: "NAMING", Content: fmt.Sprint("fact ", n)})
		}
		return all
	}
	const maxMemories = 1_000
	learn(t, s, project, facts(0, maxMemories)...)
	storetest.Exec(t, s, `UPDATE memories SET status = 'permanent' WHERE content = 'fact 0'`)
	storetest.Advance(s, time.Minute)
	learn(t, s, project, facts(1, 2)...) // these are seen again
	storetest.Advance(s, time.Minute)
	learn(t, s, project, facts(maxMemories, maxMemories+10)...)
	got := contentsOf(t, s, s.Clock.Now())
	want := []string{"fact 0", "fact 1"}
	for n := range maxMemories - 1 {
		want = append(want, fmt.Sprint("fact ", n+11))
	}
	storetest.Same(t, "memories", got, want)
}

func TestFactsBecomeMemoriesOnce(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	learn(t, s, project, chronicle.Fact{Category: "NAMING", Content: "Use Bun"}, chronicle.Fact{Category: "NAMING", Content: " \n"}, chronicle.Fact{Category: "RULES", Content: "use bun"})
	storetest.Advance(s, time.Minute)
	later := now + time.Minute.Milliseconds()
	learn(t, s, project, chronicle.Fact{Category: "NAMING", Content: "use  bun\n"})
	m, err := s.Memories.Of(t.Context(), project, later)
	storetest.Must(t, err)
	row := chronicle.Memory{
		ID: 1, Project: project, Directory: directory, Category: "NAMING", Content: "Use Bun", Importance: 50, Source: "historian", Harness: key.Harness, Session: key.Session, SeenAt: later,
	}
	other := row
	other.ID, other.Category, other.Content, other.SeenAt = 2, "RULES", "use bun", now
	storetest.Same(t, "memories", m, memories.OfProject{Memories: []chronicle.Memory{row, other}, MemoryID: 2})
	storetest.Same(t, "seen", seenIn(t, s), map[string]int{"Use Bun": 2, "use bun": 1})
	if m, err := s.Memories.Of(t.Context(), "another project", now); err != nil || len(m.Memories) > 0 || m.MemoryID > 0 {
		t.Errorf("another project knows %+v, %v", m, err)
	}
	storetest.Must(t, s.DeleteSession(t.Context(), key))
	storetest.Same(t, "without the session", contentsOf(t, s, now), []string{"Use Bun", "use bun"})
}

func TestMemoriesExpire(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	learn(t, s, project, chronicle.Fact{Category: "A", Content: "short"}, chronicle.Fact{Category: "A", Content: "long"})
	storetest.Exec(t, s, `UPDATE memories SET expires_at = ?`, now+10)
	storetest.Same(t, "before", contentsOf(t, s, now+9), []string{"short", "long"})
	storetest.Same(t, "after", contentsOf(t, s, now+10), []string(nil))
	learn(t, s, project, chronicle.Fact{Category: "A", Content: "short"})
	storetest.Same(t, "learned without an end", contentsOf(t, s, now+99), []string{"short"})
}

func TestChangesOfMemoriesAreLogged(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	learn(t, s, project, chronicle.Fact{Category: "A", Content: "one"}, chronicle.Fact{Category: "A", Content: "two"}, chronicle.Fact{Category: "A", Content: "three"}, chronicle.Fact{Category: "A", Content: "four"})
	changes := []chronicle.MemoryChange{
		{ID: 1, Project: project, Kind: chronicle.MemoryUpdated, Memory: 1, Category: "B", Content: "uno"},
		{ID: 2, Project: project, Kind: chronicle.MemoryArchived, Memory: 2},
		{ID: 3, Project: project, Kind: chronicle.MemorySuperseded, Memory: 3, SupersededBy: 1},
		{ID: 4, Project: project, Kind: chronicle.MemoryDeleted, Memory: 4},
	}
	for _, ch := range changes {
		storetest.Must(t, s.Memories.Change(t.Context(), ch))
	}
	got, err := s.Memories.Changes(t.Context(), project, 0)
	storetest.Must(t, err)
	storetest.Same(t, "changes", got, changes)
	got, err = s.Memories.Changes(t.Context(), project, 3)
	storetest.Must(t, err)
	storetest.Same(t, "newest change", got, changes[3:])
	storetest.Same(t, "memories", contentsOf(t, s, now), []string{"uno"})
	m, err := s.Memories.Of(t.Context(), project, now)
	storetest.Must(t, err)
	if m.MemoryID != 3 || m.ChangeID != 4 {
		t.Errorf("the newest memory is %d, the newest change %d", m.MemoryID, m.ChangeID)
	}

	before := storetest.Rows(t, s)
	assertIs(t, s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: project, Kind: chronicle.MemoryArchived, Memory: 4}), memories.ErrUnknown)
	assertIs(t, s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: "another", Kind: chronicle.MemoryArchived, Memory: 1}), memories.ErrUnknown)
	assertIs(t, s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: project, Kind: chronicle.MemoryUpdated, Memory: 1, Category: "A", Content: "TWO"}), memories.ErrSame)
	if err := s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: project, Kind: "other", Memory: 1}); err == nil {
		t.Error("an unknown change was stored")
	}
	storetest.Same(t, "database", storetest.Rows(t, s), before)

	learn(t, s, project, chronicle.Fact{Category: "A", Content: "two"}, chronicle.Fact{Category: "A", Content: "four"})
	storetest.Same(t, "learned again", contentsOf(t, s, now), []string{"uno", "four"}) // an archived memory stays archived
	if m, err := s.Memories.Of(t.Context(), project, now); err != nil || m.Memories[1].ID <= 4 {
		t.Errorf("the id of a deleted memory was given again: %+v, %v", m.Memories, err)
	}
}

// A change is kept as long as some head shows the memory as it was before the change.
func TestChangesThatEveryHeadShowsAreForgotten(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	learn(t, s, project, chronicle.Fact{Category: "A", Content: "one"})
	for _, content := range []string{"two", "three", "four"} {
		storetest.Must(t, s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: project, Kind: chronicle.MemoryUpdated, Memory: 1, Category: "A", Content: content}))
	}
	left := func(before int64) (n int) {
		t.Helper()
		storetest.Must(t, s.Memories.ForgetChanges(t.Context(), before))
		changes, err := s.Memories.Changes(t.Context(), project, 0)
		storetest.Must(t, err)
		return len(changes)
	}
	second := storetest.Commit(2)
	second.Head = &store.HeadRow{Epoch: 1, ChangeID: 2}
	storetest.Must(t, s.CommitPass(t.Context(), second)) // this head shows the changes up to number 2
	if n := left(now); n != 3 {
		t.Errorf("%d young changes are left", n)
	}
	if n := left(now + 1); n != 1 {
		t.Errorf("%d changes are left, want only the one that the head does not show", n)
	}
	storetest.Must(t, s.DeleteSession(t.Context(), key))
	if n := left(now + 1); n != 0 {
		t.Errorf("%d changes are left without a head", n)
	}
}

// If a directory becomes a repository, or if an older release stored rows under the directory itself, all facts
// about the directory become facts about the repository.
func TestProjectAdoptsTheRowsOfADirectory(t *testing.T) {
	const former = "dir:0123456789ab"
	for _, before := range []string{former, directory} {
		s := storetest.Open(t, t.TempDir())
		storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
		known := chronicle.Fact{Category: "NAMING", Content: "known to both"}
		learn(t, s, project, known)
		storetest.Exec(t, s, `UPDATE sessions SET project = ?`, map[string]string{former: former}[before])
		learn(t, s, before, known, chronicle.Fact{Category: "NAMING", Content: "known to the directory"})
		storetest.Must(t, s.Memories.Change(t.Context(), chronicle.MemoryChange{Project: before, Kind: chronicle.MemoryUpdated, Memory: 3, Category: "NAMING", Content: "changed"}))

		for range 2 {
			storetest.Must(t, s.Memories.Adopt(t.Context(), directory, former, project))
		}
		storetest.Same(t, "memories", contentsOf(t, s, now), []string{"known to both", "changed"})
		changes, err := s.Memories.Changes(t.Context(), project, 0)
		storetest.Must(t, err)
		if len(changes) != 1 {
			t.Errorf("%s: changes %+v", before, changes)
		}
		snap, _, err := s.Load(t.Context(), key)
		storetest.Must(t, err)
		storetest.Same(t, "session", snap.Session.Project, project)
		old, err := s.Memories.Of(t.Context(), before, now)
		storetest.Must(t, err)
		storetest.Same(t, "old memories", old, memories.OfProject{})
	}
}

func assertIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error %v, want %v", err, target)
	}
}
