package memories_test

import (
	"errors"
	"fmt"
	"strings"
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

func learn(t *testing.T, s *store.Store, project string, facts ...chronicle.Fact) {
	t.Helper()
	storetest.Must(t, s.Update(t.Context(), func(tx *database.Tx) error {
		_, err := memories.Learn(tx, project, facts, key.Harness, key.Session, s.Clock.Now())
		return err
	}))
}

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

// If a project has too many memories, the store removes the memories that were not seen for the longest time, but none
// that a user has kept.
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
	learn(t, s, project, chronicle.Fact{Category: "NAMING", Content: "Use Bun", Source: chronicle.Range{Start: 7, End: 9}}, chronicle.Fact{Category: "NAMING", Content: " \n"}, chronicle.Fact{Category: "RULES", Content: "use bun"})
	storetest.Advance(s, time.Minute)
	later := now + time.Minute.Milliseconds()
	learn(t, s, project, chronicle.Fact{Category: "NAMING", Content: "use  bun\n"})
	m, err := s.Memories.Of(t.Context(), project, later)
	storetest.Must(t, err)
	row := chronicle.Memory{
		ID: 1, Project: project, Directory: directory, Category: "NAMING", Content: "Use Bun", Importance: 50, Source: chronicle.FromHistorian, Harness: key.Harness, Session: key.Session,
		Message: 7, Status: chronicle.MemoryIsActive, Seen: 2, SeenAt: later, CreatedAt: now, UpdatedAt: now,
	}
	other := row
	other.ID, other.Category, other.Content, other.SeenAt, other.Seen, other.Message = 2, "RULES", "use bun", now, 1, 0
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

func edit(t *testing.T, s *store.Store, change func(*memories.Editor) error) {
	t.Helper()
	storetest.Must(t, tryEdit(t, s, change))
}

func tryEdit(t *testing.T, s *store.Store, change func(*memories.Editor) error) error {
	t.Helper()
	return s.Update(t.Context(), func(tx *database.Tx) error { return change(memories.Editing(tx, s.Clock.Now())) })
}

func rewrite(project string, id int64, content string) func(*memories.Editor) error {
	return func(e *memories.Editor) error {
		_, err := e.Update(project, id, func(m *chronicle.Memory) { m.Category, m.Content = "NAMING", content })
		return err
	}
}

func archive(project string, ids ...int64) func(*memories.Editor) error {
	return func(e *memories.Editor) error {
		_, err := e.Archive(project, ids, "")
		return err
	}
}

func TestChangesOfMemoriesAreLogged(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	fact := func(content string) chronicle.Fact { return chronicle.Fact{Category: "ARCHITECTURE", Content: content} }
	learn(t, s, project, fact("one"), fact("two"), fact("three"), fact("four"))
	edit(t, s, rewrite(project, 1, "uno"))
	edit(t, s, func(e *memories.Editor) error {
		_, err := e.Archive(project, []int64{2, 2}, " dup ")
		return err
	})
	edit(t, s, func(e *memories.Editor) error {
		_, _, err := e.Merge([]int64{1, 3}, chronicle.Memory{Project: project, Category: "NAMING", Content: "Uno"})
		return err
	})
	edit(t, s, func(e *memories.Editor) error {
		_, err := e.Delete(project, 4)
		return err
	})
	changes := []chronicle.MemoryChange{
		{ID: 1, Kind: chronicle.MemoryUpdated, Memory: 1, Category: "NAMING", Content: "uno"},
		{ID: 2, Kind: chronicle.MemoryArchived, Memory: 2, Content: "dup"},
		{ID: 3, Kind: chronicle.MemoryUpdated, Memory: 1, Category: "NAMING", Content: "Uno"},
		{ID: 4, Kind: chronicle.MemorySuperseded, Memory: 3, SupersededBy: 1},
		{ID: 5, Kind: chronicle.MemoryDeleted, Memory: 4},
	}
	for i := range changes {
		changes[i].Project, changes[i].At = project, now
		if changes[i].Memory != 4 { // a deleted memory has no source
			changes[i].Source = chronicle.FromHistorian
		}
	}
	got, err := s.Memories.Changes(t.Context(), project, 0)
	storetest.Must(t, err)
	storetest.Same(t, "changes", got, changes)
	got, err = s.Memories.Changes(t.Context(), project, 4)
	storetest.Must(t, err)
	storetest.Same(t, "newest change", got, changes[4:])
	storetest.Same(t, "memories", contentsOf(t, s, now), []string{"Uno"})
	m, err := s.Memories.Of(t.Context(), project, now)
	storetest.Must(t, err)
	if m.MemoryID != 3 || m.ChangeID != 5 || m.Memories[0].Seen != 2 {
		t.Errorf("the newest memory is %d, the newest change %d: %+v", m.MemoryID, m.ChangeID, m.Memories)
	}

	before := storetest.Rows(t, s)
	for _, test := range []struct {
		change func(*memories.Editor) error
		want   error
	}{
		{archive(project, 4), memories.ErrUnknown},
		{archive("another", 1), memories.ErrUnknown},
		{archive(project, 1, 2), memories.ErrInactive}, // and memory 1 stays
		{archive(project, 1, 3), memories.ErrInactive},
		{rewrite(project, 2, "x"), memories.ErrInactive},
	} {
		assertIs(t, tryEdit(t, s, test.change), test.want)
	}
	storetest.Same(t, "database", storetest.Rows(t, s), before)

	learn(t, s, project, fact("two"), fact("four"))
	storetest.Same(t, "learned again", contentsOf(t, s, now), []string{"Uno", "four"}) // an archived memory stays archived
	if m, err := s.Memories.Of(t.Context(), project, now); err != nil || m.Memories[1].ID <= 4 {
		t.Errorf("the id of a deleted memory was given again: %+v, %v", m.Memories, err)
	}
}

// Bug class K10: an archived memory could not be added again.
func TestBugK10ArchivedMemoryCanBeWrittenAgain(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	write := func(content string) (outcome memories.Outcome) {
		edit(t, s, func(e *memories.Editor) (err error) {
			_, outcome, err = e.Write(chronicle.Memory{Project: project, Category: "NAMING", Content: content, Source: chronicle.FromAgent})
			return err
		})
		return outcome
	}
	if got := write("Use bun"); got != memories.Stored {
		t.Error(got)
	}
	if got := write(" use  BUN "); got != memories.Known {
		t.Error(got)
	}
	edit(t, s, archive(project, 1))
	if got := write("use bun"); got != memories.Restored {
		t.Error(got)
	}
	storetest.Same(t, "memories", contentsOf(t, s, now), []string{"Use bun"})
	version, err := s.Memories.Version(t.Context())
	storetest.Must(t, err)
	edit(t, s, func(e *memories.Editor) error {
		_, err := e.Restore(project, 1)
		return err
	})
	if again, err := s.Memories.Version(t.Context()); err != nil || again != version {
		t.Errorf("restoring an active memory is a change: %d, %d, %v", version, again, err)
	}
}

func TestVersionGrowsWithEachChange(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	last := int64(-1)
	grows := func(when string) {
		t.Helper()
		version, err := s.Memories.Version(t.Context())
		storetest.Must(t, err)
		if version <= last {
			t.Errorf("%s: %d after %d", when, version, last)
		}
		last = version
	}
	write := func(content string) func(*memories.Editor) error {
		return func(e *memories.Editor) error {
			_, _, err := e.Write(chronicle.Memory{Project: project, Category: "NAMING", Content: content, Source: chronicle.FromUser})
			return err
		}
	}
	grows("at first")
	edit(t, s, write("one"))
	grows("after a write")
	edit(t, s, archive(project, 1))
	grows("after a change")
	storetest.Must(t, memories.Edit(t.Context(), dir, s.Clock.Now(), write("two")))
	storetest.Advance(s, time.Second)
	grows("a second after a write of another process")
}

// Credentials, and characters that hide a text or change its direction, are not stored.
func TestHostileTextOfAMemoryIsNotStored(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	hostile := "a\x1b[31mb\u202ec\U000e0041 token ghp_0123456789abcdefghijABCDEFGHIJ456789\x00"
	learn(t, s, project, chronicle.Fact{Category: "NAMING", Content: hostile})
	const clean = "abc token [redacted GitHub token]?"
	storetest.Same(t, "learned", contentsOf(t, s, now), []string{clean})
	edit(t, s, func(e *memories.Editor) error {
		_, outcome, err := e.Write(chronicle.Memory{Project: project, Category: "NAMING", Content: hostile, Source: chronicle.FromAgent})
		storetest.Same(t, "outcome", outcome, memories.Known)
		_, err2 := e.WriteNote(chronicle.Note{Harness: key.Harness, Session: key.Session, Content: hostile})
		notes, err3 := e.Reader().Notes(key.Harness, key.Session, "", false)
		storetest.Same(t, "note", notes[0].Content, clean)
		return errors.Join(err, err2, err3)
	})
	for _, m := range []chronicle.Memory{
		{Project: project, Category: "NAMING", Content: " \u202e\n"},
		{Project: project, Category: "OTHER", Content: "x"},
		{Project: project, Category: "NAMING", Content: strings.Repeat("é", 1_001)},
	} {
		err := tryEdit(t, s, func(e *memories.Editor) error {
			_, _, err := e.Write(m)
			return err
		})
		if err == nil {
			t.Errorf("%+v is stored", m)
		}
	}
}

// A note with a condition belongs to the project, and every session of the project may change it. Any other note
// belongs to its session. Bug class K30: a session could change a note of another session by its id.
func TestBugK30NotesOfOthersStay(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	mine := chronicle.Note{Harness: key.Harness, Session: key.Session, Project: project, Message: 3, Content: "mine"}
	ours := mine
	ours.Content, ours.Condition = "ours", "CI is green"
	edit(t, s, func(e *memories.Editor) error {
		_, err := e.WriteNote(mine)
		_, err2 := e.WriteNote(ours)
		return errors.Join(err, err2)
	})
	for _, other := range []chronicle.Note{
		{ID: 1, Harness: "pi", Session: "other", Project: project}, {ID: 2, Harness: key.Harness, Session: "other", Project: "git:2"}, {ID: 9, Harness: key.Harness, Session: key.Session, Project: project},
	} {
		assertIs(t, tryEdit(t, s, func(e *memories.Editor) error { return e.DismissNote(other) }), memories.ErrNoNote)
		assertIs(t, tryEdit(t, s, func(e *memories.Editor) error { return e.UpdateNote(other, "x", "") }), memories.ErrNoNote)
	}
	open := func(session string) (contents []string) {
		edit(t, s, func(e *memories.Editor) error {
			notes, err := e.Reader().Notes(key.Harness, session, project, false)
			for _, n := range notes {
				contents = append(contents, n.Content)
			}
			return err
		})
		return contents
	}
	storetest.Same(t, "another session", open("other"), []string{"ours"})
	storetest.Must(t, s.DeleteSession(t.Context(), key))
	storetest.Same(t, "without the session", open(key.Session), []string{"ours"})
}

func TestChangesThatEveryHeadShowsAreForgotten(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
	learn(t, s, project, chronicle.Fact{Category: "A", Content: "one"})
	for _, content := range []string{"two", "three", "four"} {
		edit(t, s, rewrite(project, 1, content))
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

// A directory can become a repository after the store has saved rows under the directory's identity. An older release
// also saved rows under the directory's path. The new project must take over the rows of both.
func TestProjectAdoptsTheRowsOfADirectory(t *testing.T) {
	const former = "dir:0123456789ab"
	for _, before := range []string{former, directory} {
		s := storetest.Open(t, t.TempDir())
		storetest.Must(t, s.CommitPass(t.Context(), storetest.Commit(1)))
		known := chronicle.Fact{Category: "NAMING", Content: "known to both"}
		learn(t, s, project, known)
		storetest.Exec(t, s, `UPDATE sessions SET project = ?`, map[string]string{former: former}[before])
		learn(t, s, before, known, chronicle.Fact{Category: "NAMING", Content: "known to the directory"})
		edit(t, s, rewrite(before, 3, "changed"))
		for _, of := range []string{before, project} {
			storetest.Exec(t, s, `INSERT INTO agent_runs (subject, agent, run, status, started_at, ended_at) VALUES ('project ' || ?, 'dreamer', 1, 'success', 1, 2)`, of)
		}
		storetest.Exec(t, s, `INSERT INTO agent_work (subject, agent) VALUES ('project ' || ?, 'dreamer')`, before)
		storetest.Exec(t, s, `INSERT INTO agent_calls (at, project, directory, agent, holder, model, input_tokens, output_tokens, cache_read, cache_write, counted, counted_tokens, is_open)
			VALUES (1, ?, '', 'dreamer', '', '', 0, 0, 0, 0, 0, 0, 0)`, before)

		for range 2 {
			storetest.Must(t, s.Memories.Adopt(t.Context(), directory, former, project))
		}
		storetest.Same(t, "memories", contentsOf(t, s, now), []string{"known to both", "changed"})
		for query, want := range map[string]int{
			`SELECT count(*) FROM agent_runs WHERE subject = 'project ' || ? AND run IN (1, 2)`: 2,
			`SELECT count(*) FROM agent_work WHERE subject = 'project ' || ?`:                   1, `SELECT count(*) FROM agent_calls WHERE project = ?`: 1,
		} {
			got := 0
			storetest.Must(t, s.Update(t.Context(), func(tx *database.Tx) error {
				return tx.Scan(query, func(row *sqlite3.Stmt) { got = row.ColumnInt(0) }, project)
			}))
			if got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
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
