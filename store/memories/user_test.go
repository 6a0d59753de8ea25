package memories_test

import (
	"errors"
	"fmt"
	"slices"
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

type noticing struct {
	*store.Store
	t        *testing.T
	messages int
}

func newNoticing(t *testing.T) *noticing {
	return &noticing{Store: storetest.Open(t, t.TempDir()), t: t}
}

func (n *noticing) notices(session, content string) {
	n.t.Helper()
	n.messages++
	n.noticesAt(session, content, "words of the user", n.messages)
}

func (n *noticing) noticesAt(session, content, words string, message int) {
	n.t.Helper()
	storetest.Must(n.t, n.Update(n.t.Context(), func(tx *database.Tx) error {
		_, err := tx.Exec(`INSERT OR IGNORE INTO sessions (harness, session_id, updated_at) VALUES ('opencode', ?, 1)`, session)
		o := chronicle.Observation{Content: content, Words: words, Source: chronicle.Range{Start: message, End: message}}
		return errors.Join(err, memories.Observe(tx, []chronicle.Observation{o}, 3, "opencode", session, n.Clock.Now()))
	}))
}

func (n *noticing) known() (contents []string) {
	n.t.Helper()
	all, err := n.Memories.OfUser(n.t.Context())
	storetest.Must(n.t, err)
	for _, m := range all {
		contents = append(contents, fmt.Sprint(m.ID, " ", m.Content, " ", m.Seen))
	}
	return contents
}

func (n *noticing) want(when string, want ...string) {
	n.t.Helper()
	if got := n.known(); !slices.Equal(got, want) {
		n.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

func (n *noticing) count(table string) (rows int) {
	n.t.Helper()
	storetest.Must(n.t, n.View(n.t.Context(), func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT count(*) FROM `+table, func(s *sqlite3.Stmt) { rows = s.ColumnInt(0) })
	}))
	return rows
}

// The store itself counts the sessions that show a trait, because a model could be wrong about the number. A session
// counts once even if it repeats the trait. A fork that repeats its original's observation does not count.
func TestTraitNeedsDifferentSessions(t *testing.T) {
	n := newNoticing(t)
	for range 5 {
		n.notices("one", "Prefers short answers.")
	}
	n.noticesAt("one", "Prefers tiny commits.", "tiny commits", 7)
	n.noticesAt("fork-1", "Prefers tiny commits.", "tiny commits", 7)
	n.noticesAt("fork-2", "The user prefers tiny commits.", "Tiny  commits", 7)
	n.notices("two", "The user prefers short, direct answers.")
	n.notices("two", "Prefers long answers.")
	n.want("two sessions")
	n.notices("three", "prefers short answers")
	n.want("three sessions", "1 prefers short answers 3")
	n.notices("four", "Prefers short answers.")
	n.want("again", "1 prefers short answers 4")
	if rows := n.count("user_candidates"); rows != 2 {
		t.Errorf("%d observations wait", rows)
	}
}

func TestDismissedTraitStaysDismissed(t *testing.T) {
	n := newNoticing(t)
	for _, session := range []string{"one", "two", "three"} {
		n.notices(session, "Prefers short answers.")
	}
	storetest.Must(t, tryEdit(t, n.Store, func(e *memories.Editor) error {
		_, err := e.Archive("", []int64{1}, "no")
		return err
	}))
	for i := range 10 {
		n.notices(fmt.Sprint("later-", i), "The user prefers short answers")
	}
	n.want("archived")
	if rows := n.count("user_candidates"); rows != 0 {
		t.Errorf("%d observations wait", rows)
	}
	storetest.Must(t, tryEdit(t, n.Store, func(e *memories.Editor) error {
		_, err := e.Restore("", 1)
		return err
	}))
	n.want("restored", "1 Prefers short answers. 3")
}

func TestObservationsGoWithTheirSession(t *testing.T) {
	n := newNoticing(t)
	n.notices("one", "Prefers short answers.")
	n.notices("two", "Prefers short answers.")
	storetest.Must(t, n.DiscardSession(t.Context(), store.Key{Harness: "opencode", Session: "one"}))
	storetest.Exec(t, n.Store, `DELETE FROM sessions WHERE session_id = 'one'`)
	n.notices("three", "Prefers short answers.")
	n.want("one is deleted")
	storetest.Must(t, n.Update(t.Context(), func(tx *database.Tx) error {
		for i := range 600 {
			o := chronicle.Observation{Content: fmt.Sprintf("Likes zebra%d giraffe%d.", i, i), Words: fmt.Sprint(i)}
			if err := memories.Observe(tx, []chronicle.Observation{o}, 3, "opencode", "two", n.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	}))
	if rows := n.count("user_candidates"); rows != 500 {
		t.Errorf("%d observations wait", rows)
	}
}

func TestWhichTraitsAreAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Prefers short answers.", "The user prefers short answers in German.", true},
		{"Prefers tabs over spaces.", "Prefers spaces over tabs.", false},
		{"Wants tests first.", "Does not want tests first.", false},
		{"Likes emojis.", "Dislikes emojis.", false},
		{"Likes emojis.", "likes  EMOJIS.", true},
		{"Prefers short answers.", "Prefers long answers.", false},
		{"Prefers answers.", "Prefers a fruit salad.", false},
		{"bevorzugt kurze Antworten", "bevorzugt keine kurzen Antworten", false},
	} {
		n := newNoticing(t)
		n.notices("one", c.a)
		n.notices("two", c.a)
		n.notices("three", c.b)
		if got := len(n.known()) == 1; got != c.want {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
}

// A model must not change a memory about the user by naming its number, and must not turn a memory of a project into
// one about the user.
func TestProjectsCannotChangeMemoriesOfTheUser(t *testing.T) {
	n := newNoticing(t)
	for _, session := range []string{"one", "two", "three"} {
		n.notices(session, "Prefers short answers.")
	}
	storetest.Advance(n.Store, time.Minute)
	for what, change := range map[string]func(*memories.Editor) error{
		"update": func(e *memories.Editor) error {
			_, err := e.Update(project, 1, func(m *chronicle.Memory) { m.Content = "x" })
			return err
		},
		"archive": func(e *memories.Editor) error { _, err := e.Archive(project, []int64{1}, ""); return err },
		"write": func(e *memories.Editor) error {
			_, _, err := e.Write(chronicle.Memory{Project: project, Category: chronicle.UserCategory, Content: "x", Source: chronicle.FromAgent})
			return err
		},
		"join": func(e *memories.Editor) error {
			return errors.Join(e.SetWorkspace("w", nil), e.Join("w", memories.Member{Project: chronicle.UserProject, Name: "me"}))
		},
	} {
		if err := tryEdit(t, n.Store, change); err == nil {
			t.Errorf("%s is possible", what)
		} else if _, isRefused := errors.AsType[memories.Refusal](err); !isRefused {
			t.Errorf("%s: %v", what, err)
		}
	}
	n.want("afterwards", "1 Prefers short answers. 3")
}
