package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
)

// used stores one pass of a session at a time, with many units. first is the fingerprint of its first message.
func used(t *testing.T, s *Store, id, parent string, at time.Time, units int, first int64) Key {
	t.Helper()
	s.clock.(*clock.Manual).Set(at.UnixMilli())
	c := PassCommit{
		Session: SessionRow{Key: Key{"opencode", id}, Parent: parent, Directory: "/p", Mode: "primary", Provider: "p", Model: "m-" + id, Passes: 1, LastPassAt: at.UnixMilli(), TagCounter: units},
		Pass:    PassRow{Pass: 1, At: at.UnixMilli(), Verdict: "hard"},
	}
	for tag := 1; tag <= units; tag++ {
		u := UnitRow{Tag: tag, UnitKey: unitKey(tag), MessageKey: fmt.Sprint("m", tag), Kind: "tool", Fingerprint: int64(tag)<<32 + first}
		if tag == 1 {
			u.Fingerprint = first
		}
		c.Units = append(c.Units, u)
		c.Edits = append(c.Edits, EditRow{Tag: tag, Kind: "drop", Pass: 1})
		c.Thinking = append(c.Thinking, ThinkingRow{MessageKey: u.MessageKey, Prompt: "p"})
	}
	c.Head = head(1)
	must(t, s.CommitPass(t.Context(), c))
	publishMany(t, s, c.Session.Key, units)
	must(t, s.QueueDrops(t.Context(), c.Session.Key, nil, []DropRow{{Tag: 1, UnitKey: unitKey(1)}}, ToolReplyRow{CallID: "c", Reply: "r", At: at.UnixMilli()}))
	must(t, s.Models.SaveLimits(t.Context(), LimitsRow{Provider: "p", Model: "m-" + id, At: at.UnixMilli()}))
	return c.Session.Key
}

// publishMany stores one compartment for each unit, and stages as many compartments.
func publishMany(t *testing.T, s *Store, key Key, units int) {
	t.Helper()
	acquired, err := s.Leases.Acquire(t.Context(), HistorianOf(key), runner)
	if err != nil || !acquired {
		t.Fatalf("no lease: %v", err)
	}
	p := Publication{Key: key, Holder: runner, After: HistoryEnd{Ordinal: 1}, Run: RunRow{Kind: "incremental"}}
	for n := 1; n <= units; n++ {
		p.Compartments = append(p.Compartments, chronicle.Compartment{Start: n, End: n, MadeBy: "model"})
	}
	must(t, s.History.Publish(t.Context(), p))
	must(t, s.History.SaveStaging(t.Context(), key, runner, Staging{Compartments: p.Compartments}))
	must(t, s.Leases.Release(t.Context(), HistorianOf(key), runner))
}

// rowsOf counts the rows of a session in all tables that have any.
func rowsOf(t *testing.T, s *Store, key Key) (total int, largest int) {
	t.Helper()
	must(t, s.view(t.Context(), func(c *sqlite3.Conn) error {
		for _, table := range tablesOfSessions(t, c) {
			n := 0
			err := scan(c, `SELECT count(*) FROM `+table+` WHERE harness = ? AND session_id = ?`,
				func(row *sqlite3.Stmt) { n = row.ColumnInt(0) }, key.Harness, key.Session)
			if err != nil {
				return err
			}
			total, largest = total+n, max(largest, n)
		}
		return nil
	}))
	return total, largest
}

func tablesOfSessions(t *testing.T, c *sqlite3.Conn) (tables []string) {
	t.Helper()
	must(t, scan(c, `
		SELECT m.name FROM sqlite_schema AS m
		JOIN pragma_table_info(m.name) AS i
		WHERE m.type = 'table' AND i.name = 'session_id'`,
		func(row *sqlite3.Stmt) { tables = append(tables, row.ColumnText(0)) }))
	return tables
}

// Once, if no host heard that a session was deleted, the session stayed for ever with all its units.
func TestB10ExpiredSessionIsForgottenInSmallSteps(t *testing.T) {
	s := openIn(t, t.TempDir())
	today := time.UnixMilli(now).Add(KeptSession + time.Hour)
	old := used(t, s, "old", "", time.UnixMilli(now), 1300, 7)
	live := used(t, s, "live", "", today, 20, 8)
	before := today.Add(-KeptSession).UnixMilli()
	keys, err := s.Expired(t.Context(), before)
	must(t, err)
	same(t, "expired", keys, []Key{old})

	last, _ := rowsOf(t, s, old)
	liveRows, _ := rowsOf(t, s, live)
	for isDone := false; !isDone; {
		isDone, err = s.ForgetSome(t.Context(), old, before)
		must(t, err)
		left, _ := rowsOf(t, s, old)
		if !isDone && (last-left < 1 || last-left > forgottenRows) {
			t.Fatalf("one step deletes %d rows", last-left)
		}
		last = left
	}
	if last != 0 {
		t.Errorf("%d rows are left", last)
	}
	if n, _ := rowsOf(t, s, live); n != liveRows {
		t.Errorf("%d of %d rows of the live session are left", n, liveRows)
	}
}

// Whatever a live session still needs does not expire.
func TestB10LiveSessionsKeepWhatTheyNeed(t *testing.T) {
	s := openIn(t, t.TempDir())
	long := time.UnixMilli(now)
	today := long.Add(KeptSession + time.Hour)
	used(t, s, "original", "", long, 3, 7)
	used(t, s, "fork", "", today, 3, 7)
	used(t, s, "parent", "", long, 3, 8)
	used(t, s, "child", "parent", today, 3, 9)
	gone := used(t, s, "gone", "", long, 3, 10)
	used(t, s, "gone's child", "gone", long, 3, 11)
	before := today.Add(-KeptSession).UnixMilli()
	keys, err := s.Expired(t.Context(), before)
	must(t, err)
	slices.SortFunc(keys, func(a, b Key) int { return len(a.Session) - len(b.Session) })
	same(t, "expired", keys, []Key{gone, {"opencode", "gone's child"}})

	used2 := gone // the session is used between two steps
	s.clock.(*clock.Manual).Set(today.UnixMilli())
	must(t, s.RequestFlush(t.Context(), used2, today.UnixMilli()))
	was, _ := rowsOf(t, s, gone)
	isDone, err := s.ForgetSome(t.Context(), gone, before)
	must(t, err)
	if n, _ := rowsOf(t, s, gone); !isDone || n != was {
		t.Errorf("a session that is used again lost %d rows", was-n)
	}
}

func TestB10RepliesModelsAndWaitingFilesExpire(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	long := time.UnixMilli(now)
	key := used(t, s, "a", "", long, 1, 7)
	must(t, s.Models.SaveLimits(ctx, LimitsRow{Provider: "p", Model: "unused", At: now}))
	must(t, s.QueueDrops(ctx, key, nil, nil, ToolReplyRow{CallID: "new", Reply: "r", At: now + 5000}))

	isDone, err := s.ForgetReplies(ctx, now+1000)
	must(t, err)
	_, hasOld, err := s.ToolReply(ctx, key, "c")
	must(t, err)
	_, hasNew, err := s.ToolReply(ctx, key, "new")
	must(t, err)
	if !isDone || hasOld || !hasNew {
		t.Errorf("done %v, the old reply is there: %v, the new one: %v", isDone, hasOld, hasNew)
	}

	must(t, s.Models.Forget(ctx, now+1000))
	_, hasUnused, err := s.Models.Limits(ctx, "p", "unused")
	must(t, err)
	_, hasUsed, err := s.Models.Limits(ctx, "p", "m-a")
	must(t, err)
	if hasUnused || !hasUsed {
		t.Errorf("the unused model is there: %v, the one of a session: %v", hasUnused, hasUsed)
	}

	must(t, s.Waiting.Keep(key, []UnitRow{{Tag: 9, UnitKey: "k"}}))
	must(t, s.Waiting.Keep(Key{"opencode", "fresh"}, []UnitRow{{Tag: 9, UnitKey: "k"}}))
	must(t, os.Chtimes(s.Waiting.path(key), long, long))
	must(t, s.Waiting.ForgetOld(long.Add(time.Hour)))
	_, oldErr := os.Stat(s.Waiting.path(key))
	_, newErr := os.Stat(s.Waiting.path(Key{"opencode", "fresh"}))
	if oldErr == nil || newErr != nil {
		t.Errorf("waiting files: %v, %v", oldErr, newErr)
	}
}

// Once, every damaged database that was moved aside stayed for ever.
func TestB10OnlyTheNewestDamagedDatabasesStay(t *testing.T) {
	dir, path := filled(t)
	for n := range 5 {
		must(t, os.WriteFile(fmt.Sprintf("%s.corrupt-%d", path, 100+n), []byte("x"), 0o600))
		must(t, os.WriteFile(fmt.Sprintf("%s.corrupt-%d-wal", path, 100+n), []byte("x"), 0o600))
	}
	must(t, os.WriteFile(path+".v3.bak.partial", []byte("x"), 0o600))
	must(t, os.WriteFile(path+".corrupt-notes", []byte("a user's own"), 0o600))
	must(t, openIn(t, dir).Close())
	var want []string
	for _, suffix := range []string{".corrupt-103", ".corrupt-103-wal", ".corrupt-104", ".corrupt-104-wal", ".corrupt-notes"} {
		want = append(want, filepath.Base(path)+suffix)
	}
	got := append(glob(t, dir, "*.corrupt-*"), glob(t, dir, "*.partial")...)
	slices.Sort(got)
	same(t, "files", got, want)
}

// If an export left out a table, every trace would lack it.
func TestC12EveryTableOfASessionIsExported(t *testing.T) {
	s := openIn(t, t.TempDir())
	var names []string
	for _, e := range exported {
		if strings.HasPrefix(e.where, ofSession) {
			names = append(names, e.name)
		}
	}
	must(t, s.view(t.Context(), func(c *sqlite3.Conn) error {
		for _, table := range tablesOfSessions(t, c) {
			if table != "unit_sums" && !slices.Contains(names, table) { // triggers fill it
				t.Errorf("table %s is not exported", table)
			}
		}
		return nil
	}))
}

// After an import, the other store holds the exported rows, and the rows that it had before are unchanged.
func TestC12ImportIsTheExport(t *testing.T) {
	s, other := openIn(t, t.TempDir()), openIn(t, t.TempDir())
	key := used(t, s, "a", "", time.UnixMilli(now), 30, -7)
	tables, err := s.Export(t.Context(), key)
	must(t, err)
	for range 2 {
		must(t, other.Import(t.Context(), tables))
		same(t, "snapshot", load(t, other, key), load(t, s, key))
	}
	again, err := other.Export(t.Context(), key)
	must(t, err)
	same(t, "export of the import", again, tables)
}
