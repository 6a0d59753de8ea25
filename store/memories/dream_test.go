package memories_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
	"github.com/magicctx/magicctx-host/store/work"
)

// After any runs and undos, each memory is active, is superseded by an existing memory, or is archived with a reason. A
// second undo changes nothing.
func TestRunOfTheDreamerLosesNothing(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	count := 0
	rapid.Check(t, func(r *rapid.T) {
		count++
		project := fmt.Sprint("git:", count)
		for i := range rapid.IntRange(2, 12).Draw(r, "memories") {
			write(r, s, chronicle.Memory{Project: project, Category: rapid.SampledFrom(chronicle.Categories[:2]).Draw(r, "category"), Content: fmt.Sprint("Fact ", i, "."), Source: chronicle.FromHistorian})
		}
		before := active(r, s, project)
		w := memories.DreamerOf(project)
		if acquired, err := s.Leases.Acquire(t.Context(), w, "1.1"); err != nil || !acquired {
			r.Fatal(acquired, err)
		}
		run, changed := 0, 0
		for range rapid.IntRange(1, 4).Draw(r, "tasks") {
			storetest.Advance(s, time.Second)
			known := active(r, s, project)
			changes := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) memories.Tended {
				c := memories.Tended{
					Content: rapid.SampledFrom([]string{"", "Fact 1.", "fact  2.", "New.", "Newer."}).Draw(r, "content"), Reason: "volatile: it has passed.",
				}
				c.Old = rapid.SliceOfN(rapid.SampledFrom(known), 1, 3).Draw(r, "of")
				if c.Content != "" && rapid.Bool().Draw(r, "splits") {
					c.Old, c.More = c.Old[:1], rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Part one.", "Part two.", "Fact 3."}), 1, 2, rapid.ID).Draw(r, "more")
				}
				return c
			}), 0, 3).Draw(r, "changes")
			number, made, err := tend(s, project, run, changes)
			if err != nil {
				r.Fatal(err)
			}
			if changed += len(made); len(made) > 0 {
				run = number
			}
			if len(active(r, s, project)) == 0 {
				break
			}
		}
		check(r, s, project)
		if changed == 0 {
			return
		}
		storetest.Advance(s, time.Second)
		for range 2 {
			undo(r, s, project, run)
			if got := active(r, s, project); !slices.EqualFunc(got, before, func(a, b chronicle.Memory) bool {
				return a.ID == b.ID && a.Content == b.Content && a.Category == b.Category
			}) {
				r.Fatalf("after undo: %+v, want %+v", got, before)
			}
		}
		check(r, s, project)
	})
}

func tend(s *store.Store, project string, run int, changes []memories.Tended) (number int, made []memories.Tended, err error) {
	err = s.Memories.Tend(context.Background(), project, "1.1", run, changes, func(n int, m []memories.Tended) string {
		number, made = n, m
		return fmt.Sprint(len(m))
	})
	return number, made, err
}

func editing(r *rapid.T, s *store.Store, change func(*memories.Editor) error) {
	err := s.Update(context.Background(), func(tx *database.Tx) error { return change(memories.Editing(tx, s.Clock.Now())) })
	if err != nil {
		r.Fatal(err)
	}
}

func write(r *rapid.T, s *store.Store, m chronicle.Memory) {
	editing(r, s, func(e *memories.Editor) error {
		_, _, err := e.Write(m)
		return err
	})
}

func undo(r *rapid.T, s *store.Store, project string, run int) {
	editing(r, s, func(e *memories.Editor) error {
		_, err := e.Undo(project, run)
		return err
	})
}

func stored(r *rapid.T, s *store.Store, project string, all bool) (found []chronicle.Memory) {
	editing(r, s, func(e *memories.Editor) (err error) {
		found, err = e.Reader().All(project, all, s.Clock.Now())
		return err
	})
	return found
}

func active(r *rapid.T, s *store.Store, project string) []chronicle.Memory {
	return stored(r, s, project, false)
}

func check(r *rapid.T, s *store.Store, project string) {
	all := stored(r, s, project, true)
	for _, m := range all {
		isKnown := slices.ContainsFunc(all, func(by chronicle.Memory) bool { return by.ID == m.SupersededBy })
		var log []chronicle.MemoryChange
		editing(r, s, func(e *memories.Editor) (err error) {
			log, err = e.Reader().Log(m.ID)
			return err
		})
		switch {
		case m.Status == chronicle.MemoryIsActive:
		case m.Status == chronicle.MemoryIsSuperseded && isKnown:
		case m.Status == chronicle.MemoryIsArchived && len(log) > 0 && log[len(log)-1].Content != "":
		default:
			r.Fatalf("%+v is lost: %+v", m, log)
		}
	}
}

// Neither a run nor an undo changes a memory that somebody else has changed in the meantime, or a memory of another
// project. A run that has lost its lease changes nothing.
func TestRunOfTheDreamerRespectsOthers(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	var known []chronicle.Memory
	edit := func(change func(*memories.Editor) error) {
		t.Helper()
		storetest.Must(t, s.Update(t.Context(), func(tx *database.Tx) error { return change(memories.Editing(tx, s.Clock.Now())) }))
	}
	for _, content := range []string{"One.", "Two.", "Three."} {
		edit(func(e *memories.Editor) error {
			m, _, err := e.Write(chronicle.Memory{Project: project, Category: "NAMING", Content: content, Source: chronicle.FromHistorian})
			known = append(known, m)
			return err
		})
	}
	merge := []memories.Tended{{Old: known[:2], Content: "One and two."}, {Old: known[2:], Reason: "code: it is clear"}}
	if _, _, err := tend(s, project, 0, merge); !errors.Is(err, work.ErrLeaseLost) {
		t.Errorf("without a lease: %v", err)
	}
	for _, of := range []string{project, "git:other"} {
		_, err := s.Leases.Acquire(t.Context(), memories.DreamerOf(of), "1.1")
		storetest.Must(t, err)
	}
	if _, made, err := tend(s, "git:other", 0, merge); err != nil || len(made) != 0 {
		t.Errorf("another project's dreamer has made %+v, %v", made, err)
	}
	storetest.Advance(s, time.Second)
	edit(func(e *memories.Editor) error {
		_, err := e.Update(project, known[0].ID, func(m *chronicle.Memory) { m.Content = "One!" })
		return err
	})
	run, made, err := tend(s, project, 0, merge)
	if err != nil || len(made) != 1 || made[0].Reason == "" {
		t.Errorf("made %+v, %v", made, err)
	}
	storetest.Same(t, "memories", contentsOf(t, s, 0), []string{"One!", "Two."})
	storetest.Advance(s, time.Second)
	for range 2 { // the user restores the memory, and archives it again
		edit(func(e *memories.Editor) error { _, err := e.Restore(project, known[2].ID); return err })
		edit(func(e *memories.Editor) error {
			_, err := e.Archive(project, []int64{known[2].ID}, "mine")
			return err
		})
	}
	edit(func(e *memories.Editor) error {
		changed, err := e.Undo(project, run)
		if len(changed) != 0 {
			t.Errorf("undone: %+v", changed)
		}
		return err
	})
	storetest.Same(t, "memories", contentsOf(t, s, 0), []string{"One!", "Two."})
	if state, err := s.Runs.State(t.Context(), memories.DreamerOf(project)); err != nil || state.Unfinished != "1" {
		t.Errorf("stored with the changes: %q, %v", state.Unfinished, err)
	}
	storetest.Must(t, s.Runs.Record(t.Context(), memories.DreamerOf(project), work.RunRow{Status: work.Success}, 0))
	if state, err := s.Runs.State(t.Context(), memories.DreamerOf(project)); err != nil || state.Unfinished != "" {
		t.Errorf("after the end of the run: %q, %v", state.Unfinished, err)
	}
	for _, wrong := range []int{0, run + 1} {
		err := s.Update(t.Context(), func(tx *database.Tx) error {
			_, err := memories.Editing(tx, s.Clock.Now()).Undo(project, wrong)
			return err
		})
		if _, isRefused := errors.AsType[memories.Refusal](err); !isRefused {
			t.Errorf("run %d: %v", wrong, err)
		}
	}
}

// Fixed bug: the dreamer merged memories in one run, and changed the result in a second run. The user could undo the
// first run before the second one. The result of the second run then stayed. When the second run was undone as well,
// memories came back that the first run had archived. Now, Undo refuses to undo the first run before the second one.
func TestRunIsUndoneAfterTheRunsThatBuiltOnIt(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	edit := func(change func(*memories.Editor) error) error {
		return s.Update(t.Context(), func(tx *database.Tx) error { return change(memories.Editing(tx, s.Clock.Now())) })
	}
	_, err := s.Leases.Acquire(t.Context(), memories.DreamerOf(project), "1.1")
	storetest.Must(t, err)
	var known []chronicle.Memory
	for _, content := range []string{"One.", "Two."} {
		storetest.Must(t, edit(func(e *memories.Editor) error {
			m, _, err := e.Write(chronicle.Memory{Project: project, Category: "NAMING", Content: content, Source: chronicle.FromHistorian})
			known = append(known, m)
			return err
		}))
	}
	storetest.Advance(s, time.Second)
	first, _, err := tend(s, project, 0, []memories.Tended{{Old: known, Content: "One and two."}})
	storetest.Must(t, err)
	var merged []chronicle.Memory
	storetest.Must(t, edit(func(e *memories.Editor) (err error) {
		merged, err = e.Reader().All(project, false, s.Clock.Now())
		return err
	}))
	storetest.Advance(s, time.Second)
	second, _, err := tend(s, project, 0, []memories.Tended{{Old: merged, Content: "One and three."}})
	storetest.Must(t, err)
	if second == first {
		t.Fatalf("both runs have the number %d", first)
	}
	undo := func(run int) error {
		return edit(func(e *memories.Editor) error { _, err := e.Undo(project, run); return err })
	}
	err = undo(first)
	if _, isRefused := errors.AsType[memories.Refusal](err); !isRefused {
		t.Errorf("the first run is undone, although the second one has built on it: %v", err)
	}
	storetest.Same(t, "memories", contentsOf(t, s, 0), []string{"One and three."})
	storetest.Must(t, undo(second))
	storetest.Same(t, "memories", contentsOf(t, s, 0), []string{"One and two."})
	storetest.Must(t, undo(first))
	storetest.Same(t, "memories", contentsOf(t, s, 0), []string{"One.", "Two."})
}
