package memories_test

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func seen(t *testing.T, s *store.Store, project string) (all []string) {
	t.Helper()
	m, err := s.Memories.Of(t.Context(), project, now)
	storetest.Must(t, err)
	for _, m := range m.Memories {
		all = append(all, fmt.Sprintf("%d %s of %s", m.ID, m.Category, m.SharedBy))
	}
	return all
}

// The function `told` returns the changes whose ids are greater than the argument `after`, and the last of these
// ids.
func told(t *testing.T, s *store.Store, project string, after int64) (all []string, last int64) {
	t.Helper()
	changes, err := s.Memories.Changes(t.Context(), project, after)
	storetest.Must(t, err)
	for _, c := range changes {
		all, last = append(all, fmt.Sprintf("%s %d %s", c.Kind, c.Memory, c.Content)), c.ID
	}
	return all, max(last, after)
}

// git:a and git:b share constraints, git:c shares nothing. The memories 1 and 2 belong to git:a, and 3 to git:c.
func shared(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.Open(t, t.TempDir())
	edit(t, s, func(e *memories.Editor) error {
		for _, m := range []chronicle.Memory{
			{Project: "git:a", Category: "CONSTRAINTS", Content: "one"},
			{Project: "git:a", Category: "NAMING", Content: "two"},
			{Project: "git:c", Category: "CONSTRAINTS", Content: "three"},
		} {
			m.Source = chronicle.FromUser
			if _, _, err := e.Write(m); err != nil {
				return err
			}
		}
		return nil
	})
	edit(t, s, func(e *memories.Editor) error { return e.SetWorkspace("w", []string{"CONSTRAINTS"}) })
	edit(t, s, func(e *memories.Editor) error { return e.SetWorkspace("other", []string{"CONSTRAINTS"}) })
	edit(t, s, func(e *memories.Editor) error { return e.Join("w", memories.Member{Project: "git:a", Name: "a"}) })
	edit(t, s, func(e *memories.Editor) error { return e.Join("w", memories.Member{Project: "git:b", Name: "b"}) })
	edit(t, s, func(e *memories.Editor) error { return e.Join("other", memories.Member{Project: "git:c", Name: "c"}) })
	return s
}

func moved(id int64, category, content string) func(*memories.Editor) error {
	return func(e *memories.Editor) error {
		_, err := e.Update("git:a", id, func(m *chronicle.Memory) { m.Category, m.Content = category, content })
		return err
	}
}

func TestMemberSeesWhatIsShared(t *testing.T) {
	s := shared(t)
	storetest.Same(t, "a", seen(t, s, "git:a"), []string{"1 CONSTRAINTS of ", "2 NAMING of "})
	storetest.Same(t, "b", seen(t, s, "git:b"), []string{"1 CONSTRAINTS of a"})
	storetest.Same(t, "c", seen(t, s, "git:c"), []string{"3 CONSTRAINTS of "})
	storetest.Same(t, "a project without a workspace", seen(t, s, "git:d"), []string{})
	got, mark := told(t, s, "git:b", 0)
	storetest.Same(t, "b is told at first", got, []string{"restore 1 one"})
	for _, step := range []struct {
		change func(*memories.Editor) error
		seen   []string
		told   []string
	}{
		{moved(1, "CONSTRAINTS", "uno"), []string{"1 CONSTRAINTS of a"}, []string{"restore 1 uno"}},
		{moved(2, "NAMING", "dos"), []string{"1 CONSTRAINTS of a"}, []string{"archive 2 "}},
		{moved(1, "NAMING", "uno"), nil, []string{"archive 1 "}},
		{moved(1, "CONSTRAINTS", "uno"), []string{"1 CONSTRAINTS of a"}, []string{"restore 1 uno"}},
		{func(e *memories.Editor) error { return e.SetWorkspace("w", nil) }, nil, []string{"archive 1 "}},
		{func(e *memories.Editor) error { return e.SetWorkspace("w", []string{"NAMING"}) }, []string{"2 NAMING of a"}, []string{"restore 2 dos"}},
		{archive("git:a", 2), nil, []string{"archive 2 "}},
		{func(e *memories.Editor) error { return e.SetWorkspace("w", []string{"CONSTRAINTS"}) }, []string{"1 CONSTRAINTS of a"}, []string{"restore 1 uno"}},
		{func(e *memories.Editor) error { return e.Leave("git:a") }, nil, []string{"archive 1 "}},
		{func(e *memories.Editor) error { return e.Join("w", memories.Member{Project: "git:a", Name: "a"}) }, []string{"1 CONSTRAINTS of a"}, []string{"restore 1 uno"}},
		{func(e *memories.Editor) error { return e.RemoveWorkspace("w") }, nil, []string{"archive 1 "}},
	} {
		edit(t, s, step.change)
		storetest.Same(t, "b sees", seen(t, s, "git:b"), step.seen)
		got, mark = told(t, s, "git:b", mark)
		storetest.Same(t, "b is told", got, step.told)
		storetest.Same(t, "c sees", seen(t, s, "git:c"), []string{"3 CONSTRAINTS of "})
		if got, _ := told(t, s, "git:c", 0); len(got) > 0 {
			t.Errorf("c is told %q", got)
		}
	}
}

// A directory that is a member of a workspace becomes a repository, so its project gets another identity. The new
// identity must become a member in place of the old one, even if it already is a member.
func TestMembershipMovesWithTheProject(t *testing.T) {
	s := shared(t)
	for _, project := range []string{"git:e", "git:b"} {
		edit(t, s, func(e *memories.Editor) error {
			return e.Join("w", memories.Member{Project: "dir:former", Name: "of " + project})
		})
		storetest.Must(t, s.Memories.Adopt(t.Context(), "/former", "dir:former", project))
		storetest.Same(t, project, seen(t, s, project), []string{"1 CONSTRAINTS of a"})
		storetest.Same(t, "former", seen(t, s, "dir:former"), []string{})
	}
}

func TestMemberChangesNothingOfOthers(t *testing.T) {
	s := shared(t)
	assertIs(t, tryEdit(t, s, archive("git:b", 1)), memories.ErrUnknown)
	assertIs(t, tryEdit(t, s, rewrite("git:b", 1, "x")), memories.ErrUnknown)
}

// Bug K15: a malformed policy shared all memories.
func TestBugK15MalformedPolicySharesNothing(t *testing.T) {
	s := shared(t)
	for _, wrong := range []string{"", "constraints", "*", "ALL", "CONSTRAINTS ", `["CONSTRAINTS"]`} {
		storetest.Exec(t, s, `UPDATE workspace_shares SET category = ?`, wrong)
		if got := seen(t, s, "git:b"); len(got) > 0 {
			t.Errorf("%q shares %q", wrong, got)
		}
	}
	for _, change := range []func(*memories.Editor) error{
		func(e *memories.Editor) error { return e.SetWorkspace("w", []string{"SECRETS"}) },
		func(e *memories.Editor) error { return e.SetWorkspace("\x1b[31m", nil) },
		func(e *memories.Editor) error { return e.SetWorkspace("", nil) },
		func(e *memories.Editor) error { return e.SetWorkspace(" ", nil) },
		func(e *memories.Editor) error { return e.Join("none", memories.Member{Project: "git:b", Name: "b"}) },
		func(e *memories.Editor) error { return e.Join("w", memories.Member{Project: "git:d", Name: "a"}) },
		func(e *memories.Editor) error { return e.Join("w", memories.Member{Project: "", Name: "d"}) },
		func(e *memories.Editor) error { return e.Leave("git:d") },
		func(e *memories.Editor) error { return e.RemoveWorkspace("none") },
	} {
		before := storetest.Rows(t, s)
		if err := tryEdit(t, s, change); err == nil {
			t.Error("a wrong change is made")
		}
		storetest.Same(t, "database", storetest.Rows(t, s), before)
	}
}
