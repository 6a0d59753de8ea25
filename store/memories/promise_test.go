package memories_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func keep(t *testing.T, s *store.Store, project string, at int64, made []chronicle.Promise, closed ...chronicle.Closing) {
	t.Helper()
	storetest.Must(t, s.Update(t.Context(), func(tx *database.Tx) error {
		return memories.Keep(tx, project, made, closed, key.Harness, key.Session, at)
	}))
}

func promised(words ...string) (all []chronicle.Promise) {
	for i, w := range words {
		all = append(all, chronicle.Promise{Words: w, By: chronicle.ByUser, Message: i + 1})
	}
	return all
}

func open(t *testing.T, s *store.Store, project string, after int64) (all []string) {
	t.Helper()
	notes, err := s.Memories.Promises(t.Context(), project, after)
	storetest.Must(t, err)
	for _, n := range notes {
		all = append(all, fmt.Sprint(n.ID, " ", n.Status, " ", n.Content))
	}
	return all
}

func TestPromisesStayUntilTheyAreClosed(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	want := func(when string, after int64, want ...string) {
		t.Helper()
		if got := open(t, s, project, after); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	keep(t, s, project, 10, promised("TODO one", "todo  ONE", "must two", "never three", " \u202e "))
	want("made", math.MaxInt64, "1 active TODO one", "2 active must two", "3 active never three")
	keep(t, s, project, 20, nil, chronicle.Closing{ID: 1, IsDone: true, Message: 9}, chronicle.Closing{ID: 2, Message: 9})
	want("closed", math.MaxInt64, "3 active never three")
	want("closed since", 19, "1 done TODO one", "2 dismissed must two", "3 active never three")
	keep(t, s, project, 30, promised("todo one", "Must two", "never three"))
	want("said again", math.MaxInt64, "3 active never three")
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error { return e.SetDone(3, true) }))
	assertIs(t, tryEdit(t, s, func(e *memories.Editor) error { return e.SetDone(3, true) }), memories.ErrNoNote)
	want("done", math.MaxInt64)
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error { return e.SetDone(2, false) }))
	want("open again", math.MaxInt64, "2 active must two")
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error { return e.SetDone(2, true) }))
	storetest.Must(t, memories.View(t.Context(), dir, func(r *memories.Reader) error {
		all, err := r.AllNotes(true)
		if len(all) != 3 || all[2].Reason != "done in "+key.Harness+" session "+key.Session+", message 9" {
			t.Errorf("%+v", all)
		}
		return err
	}))
}

// Bug class K30: a project must not close, change or see the promises of another project. The historian closes promises
// by their numbers. If such a number belongs to another project's promise, or to a note that is not a promise, nothing
// is closed.
func TestBugK30PromisesOfOthersStay(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	keep(t, s, "git:other", 10, promised("must stay"))
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error {
		_, err := e.WriteNote(chronicle.Note{Project: project, Content: "ours", Condition: "file: a"})
		return err
	}))
	keep(t, s, project, 20, promised("must be ours"), chronicle.Closing{ID: 1, IsDone: true}, chronicle.Closing{ID: 2, IsDone: true})
	if got := open(t, s, "git:other", 0); len(got) != 1 || !strings.Contains(got[0], "active") {
		t.Errorf("%q", got)
	}
	waiting, err := s.Memories.Waiting(t.Context(), project, 10)
	if storetest.Must(t, err); len(waiting) != 1 {
		t.Errorf("%+v", waiting)
	}
	stranger := chronicle.Note{ID: 3, Harness: "pi", Session: "s", Project: "git:other"}
	assertIs(t, tryEdit(t, s, func(e *memories.Editor) error { return e.DismissNote(stranger) }), memories.ErrNoNote)
	mine := chronicle.Note{ID: 3, Harness: "pi", Session: "s", Project: project}
	if err := tryEdit(t, s, func(e *memories.Editor) error { return e.UpdateNote(mine, "other words", "") }); err == nil {
		t.Error("the words of the user were changed")
	}
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error { return e.DismissNote(mine) }))
	if got := open(t, s, project, math.MaxInt64); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestClosedPromisesAreBounded(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	for i := range int64(11) {
		var made []chronicle.Promise
		var closed []chronicle.Closing
		for j := range int64(100) {
			made = append(made, chronicle.Promise{Words: fmt.Sprint("must ", i, " ", j), By: chronicle.ByUser})
			closed = append(closed, chronicle.Closing{ID: i*100 + j + 1, IsDone: true})
		}
		keep(t, s, project, 2*i+1, made)
		keep(t, s, project, 2*i+2, nil, closed...)
	}
	if got := open(t, s, project, 0); len(got) != 1_000 || got[0] != "101 done must 1 0" {
		t.Errorf("%d are kept: %.100q", len(got), got)
	}
}

func TestPromisesAreBounded(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	for i := range 30 {
		var all []chronicle.Promise
		for j := range 10 {
			all = append(all, chronicle.Promise{Words: fmt.Sprint("must ", i, " ", j), By: chronicle.ByAgent})
		}
		keep(t, s, project, 10, all)
	}
	if got := open(t, s, project, math.MaxInt64); len(got) != 200 {
		t.Errorf("%d are open", len(got))
	}
	storetest.Must(t, tryEdit(t, s, func(e *memories.Editor) error {
		_, err := e.WriteNote(chronicle.Note{Project: project, Content: "ours", Condition: "file: a"})
		return err
	}))
}
