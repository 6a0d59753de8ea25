package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

func openIn(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(t.Context(), dir)
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	return x
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var mine = Session{Harness: "opencode", ID: "ses_1", Project: "git:a", Directory: "/p", Source: "/db"}

func said(key string, ordinal int, text string) Message {
	return Message{Key: key, Ordinal: ordinal, At: int64(ordinal), Hash: int64(len(text)), Chunks: []Chunk{{Kind: Text, Role: Agent, Text: text}}}
}

func put(t testing.TB, x *Index, s Session, all ...Message) {
	t.Helper()
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		state, err := tx.Session(s)
		for _, m := range all {
			err = errors.Join(err, tx.Put(state.Row, s.Project, m))
		}
		return err
	}))
}

func find(t testing.TB, x *Index, expression string) (all []string) {
	t.Helper()
	must(t, x.View(t.Context(), func(v *View) error {
		return v.Find(expression, Scope{}, 100, func(h Hit) { all = append(all, fmt.Sprintf("%s:%d %s", h.Session.ID, h.Last, h.Text)) })
	}))
	slices.Sort(all)
	return all
}

func want(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMessagesAreFoundByTheirTerms(t *testing.T) {
	x := openIn(t, t.TempDir())
	other := Session{Harness: "pi", ID: "s2", Project: "git:b"}
	put(t, x, mine, said("m1", 1, "The busy timeout is 5000"), said("m2", 2, "assistant text"))
	put(t, x, other, said("m1", 1, "busy elsewhere"))
	want(t, find(t, x, `"busi"`), "s2:1 busy elsewhere", "ses_1:1 The busy timeout is 5000")
	want(t, find(t, x, `"busi" AND "timeout"`), "ses_1:1 The busy timeout is 5000")
	want(t, find(t, x, `"#1" AND "busi"`), "ses_1:1 The busy timeout is 5000")
	want(t, find(t, x, `"agent"`)) // a search does not find the role (bug K4)
	must(t, x.View(t.Context(), func(v *View) error {
		n, err := v.Frequency("busi")
		if n != 2 {
			t.Errorf("%d chunks have the term", n)
		}
		return err
	}))
}

func TestBugK5FinalTextReplacesThePartialOne(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "I look at"), said("m2", 2, "second"))
	put(t, x, mine, said("m1", 1, "I look at the parser"))
	want(t, find(t, x, `"look"`), "ses_1:1 I look at the parser")
	want(t, find(t, x, `"parser"`), "ses_1:1 I look at the parser")
	want(t, find(t, x, `"second"`), "ses_1:2 second")
}

// Bug K6: two processes inserted the same messages.
func TestBugK6TwoWritersGiveNoMessageTwice(t *testing.T) {
	dir := t.TempDir()
	var all []Message
	for i := range 50 {
		all = append(all, said(fmt.Sprint("m", i), i+1, fmt.Sprint("number ", i)))
	}
	var writers sync.WaitGroup
	for range 3 {
		x := openIn(t, dir)
		writers.Go(func() {
			for i := range all {
				put(t, x, mine, all[i])
			}
		})
	}
	writers.Wait()
	if got := find(t, openIn(t, dir), `"number"`); len(got) != 50 {
		t.Errorf("%d of 50 messages: %q", len(got), got)
	}
}

func TestFileIsListedOnceWithItsNewestMessage(t *testing.T) {
	x := openIn(t, t.TempDir())
	use := func(key string, ordinal int, kind Kind) Message {
		return Message{Key: key, Ordinal: ordinal, Chunks: []Chunk{{Kind: kind, Role: Tool, Subject: "/p/a.go", Text: string(kind) + " /p/a.go"}}}
	}
	put(t, x, mine, use("m1", 1, Read), use("m2", 2, Write), use("m9", 9, Read), use("m4", 4, Read))
	want(t, find(t, x, `"go"`), "ses_1:2 write /p/a.go", "ses_1:9 read /p/a.go")
}

func TestOfTheAskingSessionOnlyOldMessagesCount(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "word one"), said("m2", 2, "word two"), said("m3", 3, "word three"))
	put(t, x, Session{Harness: "pi", ID: "s2"}, said("m7", 7, "word seven"))
	for through, count := range map[int]int{0: 1, 2: 3, 9: 4} {
		n := 0
		must(t, x.View(t.Context(), func(v *View) error {
			row, err := v.Row("opencode", "ses_1")
			return errors.Join(err, v.Find(`"word"`, Scope{Session: row, Through: through}, 10, func(Hit) { n++ }))
		}))
		if n != count {
			t.Errorf("through %d: %d, want %d", through, n, count)
		}
	}
}

func TestSessionsAndMessagesGo(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "word one"), said("m2", 2, "word two"))
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		state, err := tx.Session(mine)
		return errors.Join(err, tx.Read(state.Row, 2, "m2"), tx.Finish(state.Row, "100"))
	}))
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		state, err := tx.Session(mine)
		if state.Through != 2 || state.Tail != "m2" || state.Stamp != "100" {
			t.Errorf("%+v", state)
		}
		return errors.Join(err, tx.Clear(state.Row))
	}))
	want(t, find(t, x, `"word"`))
	put(t, x, mine, said("m2", 1, "word two"))
	put(t, x, mine, said("m2", 3, "word two"))
	want(t, find(t, x, `"word"`), "ses_1:3 word two")
	moved := mine
	moved.Project = "git:b"
	put(t, x, moved, said("m3", 3, "word of the new project"))
	want(t, find(t, x, `"word"`), "ses_1:3 word of the new project")
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		all, err := tx.SessionsIn("/db")
		return errors.Join(err, tx.Forget(all["ses_1"]))
	}))
	want(t, find(t, x, `"word"`))
}

func TestFailedUpdateLeavesNothing(t *testing.T) {
	x := openIn(t, t.TempDir())
	failed := errors.New("failed")
	err := x.Update(t.Context(), func(tx *Tx) error {
		state, err := tx.Session(mine)
		return errors.Join(err, tx.Put(state.Row, mine.Project, said("m1", 1, "word")), failed)
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	put(t, x, Session{Harness: "pi", ID: "s2", Project: "git:z"}, said("m1", 1, "other"))
	put(t, x, mine, said("m2", 2, "second"))
	want(t, find(t, x, `"word"`))
	want(t, find(t, x, `"#2" AND "second"`), "ses_1:2 second")
}

// The host can read all content again, so it repairs a damaged index without the user.
func TestDamagedIndexIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	x, err := Open(t.Context(), dir)
	must(t, err)
	put(t, x, mine, said("m1", 1, "word"))
	must(t, x.Close())
	must(t, os.WriteFile(PathIn(dir), []byte("no database, but longer than a header of SQLite would be: 0123456789 0123456789 0123456789"), 0o600))
	_, err = OpenReadOnly(t.Context(), dir)
	if !errors.Is(err, file.ErrDamaged) {
		t.Errorf("to read: %v", err)
	}
	x = openIn(t, dir)
	want(t, find(t, x, `"word"`))
	put(t, x, mine, said("m1", 1, "word"))
	want(t, find(t, x, `"word"`), "ses_1:1 word")
}

func TestOtherDatabasesAreLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want error
	}{
		"foreign": {`CREATE TABLE x (a)`, ErrForeign},
		"newer":   {fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = 99; CREATE TABLE x (a)`, file.ApplicationID), ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			conn, err := sqlite3.Open(PathIn(dir))
			must(t, err)
			must(t, errors.Join(conn.Exec(c.sql), conn.Close()))
			before, _ := os.ReadFile(PathIn(dir))
			if _, err := Open(t.Context(), dir); !errors.Is(err, c.want) {
				t.Errorf("to write: %v", err)
			}
			if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, c.want) {
				t.Errorf("to read: %v", err)
			}
			conn, err = sqlite3.Open(PathIn(dir))
			must(t, err)
			n := 0
			must(t, errors.Join(file.Scan(conn, `SELECT count(*) FROM x`, func(*sqlite3.Stmt) { n++ }), conn.Close()))
			if after, _ := os.ReadFile(PathIn(dir)); n != 1 || len(after) < len(before) {
				t.Error("the table is gone")
			}
		})
	}
}

func TestIndexThatIsMissingOrOld(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	conn, err := sqlite3.Open(PathIn(dir))
	must(t, err)
	must(t, errors.Join(conn.Exec(fmt.Sprintf(`PRAGMA application_id = %d; CREATE TABLE x (a)`, file.ApplicationID)), conn.Close()))
	if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	put(t, openIn(t, dir), mine, said("m1", 1, "word"))
	if info, err := os.Stat(PathIn(dir)); err != nil || info.Mode().Perm() != file.Mode {
		t.Error(info, err)
	}
}

// On a full disk, only the current transaction fails.
func TestFullDiskLosesNothing(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m0", 1, "word"))
	must(t, x.conn.Exec(`PRAGMA max_page_count = 60`))
	var all []Message
	for i := 1; i <= 2000; i++ {
		all = append(all, said(fmt.Sprint("m", i), i+1, fmt.Sprint("word number ", i)))
	}
	write := func() error {
		return x.Update(t.Context(), func(tx *Tx) error {
			state, err := tx.Session(mine)
			for i := 0; i < len(all) && err == nil; i++ {
				err = tx.Put(state.Row, mine.Project, all[i])
			}
			return err
		})
	}
	if err := write(); !errors.Is(err, file.ErrCannotPersist) || !errors.Is(err, ErrWrite) {
		t.Errorf("error %v", err)
	}
	want(t, find(t, x, `"word"`), "ses_1:1 word")
	must(t, x.conn.Exec(`PRAGMA max_page_count = 1000000`))
	must(t, write())
	if got := find(t, x, `"number" AND "2000"`); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A cancelled write ends at once, even while it waits for a lock. It must store nothing.
func TestCancelledWriteLeavesNothing(t *testing.T) {
	x := openIn(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	err := x.Update(ctx, func(tx *Tx) error {
		state, err := tx.Session(mine)
		must(t, err)
		cancel()
		for i := range 1000 {
			if err := tx.Put(state.Row, mine.Project, said(fmt.Sprint("m", i), i, "word")); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want(t, find(t, x, `"word"`))
	put(t, x, mine, said("m1", 1, "word"))
	want(t, find(t, x, `"word"`), "ses_1:1 word")
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	x, err := Open(t.Context(), dir)
	must(t, err)
	put(t, x, mine, said("m1", 1, "word"))
	must(t, x.Close())
	x, err = OpenReadOnly(t.Context(), dir)
	must(t, err)
	defer x.Close()
	want(t, find(t, x, `"word"`), "ses_1:1 word")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(PathIn(dir) + suffix); err == nil && info.Mode().Perm() != file.Mode {
			t.Errorf("%s has mode %o", info.Name(), info.Mode().Perm())
		}
	}
}
