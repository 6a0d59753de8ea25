package storetest

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/work"
)

// Now is the time of the clock that Open gives to its store.
const Now = 1_790_000_000_000

const (
	Directory = "/home/u/project"
	Project   = "git:4b825dc"
)

var Key = store.Key{Harness: "opencode", Session: "ses_1"}

// Open opens the store in dir with a clock that the test moves, and closes it when the test ends.
func Open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.NewManual(Now)})
	Must(t, err)
	t.Cleanup(func() { Must(t, s.Close()) })
	return s
}

func Advance(s *store.Store, d time.Duration) { s.Clock.(*clock.Manual).Advance(d) }

func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func Same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func Exec(t testing.TB, s *store.Store, query string, args ...any) {
	t.Helper()
	Must(t, s.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}))
}

// Commit returns the commit of a pass with the number n in the session Key. The pass adds one unit.
func Commit(n int) store.PassCommit {
	return store.PassCommit{
		Session: store.SessionRow{
			Key: Key, Directory: Directory, Project: Project, Mode: "primary", Provider: "anthropic", Model: "claude",
			Epoch: 1, TagCounter: n, Passes: n, WireMessages: n, LastPassAt: Now + int64(n),
		},
		Units: []store.UnitRow{{Tag: n, UnitKey: unitKey(n), MessageKey: fmt.Sprint("msg_", n), Kind: "text", Bytes: 400, Tokens: 100}},
		Pass:  store.PassRow{Pass: n, At: Now + int64(n), Verdict: "steady"},
	}
}

func unitKey(tag int) string { return fmt.Sprint("prt_", tag) }

// Used stores a session with a row in most tables. Its only pass was at the time `at`. The argument `first` is the
// fingerprint of its first unit.
func Used(t *testing.T, s *store.Store, id, parent string, at time.Time, units int, first int64) store.Key {
	t.Helper()
	s.Clock.(*clock.Manual).Set(at.UnixMilli())
	c := store.PassCommit{
		Session: store.SessionRow{Key: store.Key{Harness: Key.Harness, Session: id}, Parent: parent, Directory: "/p", Project: Project, Mode: "primary", Provider: "p", Model: "m-" + id, Passes: 1, LastPassAt: at.UnixMilli(), TagCounter: units},
		Pass:    store.PassRow{Pass: 1, At: at.UnixMilli(), Verdict: "hard"},
	}
	for tag := 1; tag <= units; tag++ {
		u := store.UnitRow{Tag: tag, UnitKey: unitKey(tag), MessageKey: fmt.Sprint("m", tag), Kind: "tool", Fingerprint: int64(tag)<<32 + first}
		if tag == 1 {
			u.Fingerprint = first
		}
		c.Units = append(c.Units, u)
		c.Edits = append(c.Edits, store.EditRow{Tag: tag, Kind: "drop", Pass: 1})
		c.Thinking = append(c.Thinking, store.ThinkingRow{MessageKey: u.MessageKey, Prompt: "p"})
	}
	c.Head = &store.HeadRow{Epoch: 1, Baseline: "<session-history/>", BaselineSeq: 1, DeltaSeq: -1, FoldedPass: 1, FoldedAt: at.UnixMilli(), FoldReason: "first"}
	Must(t, s.CommitPass(t.Context(), c))
	publishMany(t, s, c.Session.Key, units)
	Must(t, s.QueueDrops(t.Context(), c.Session.Key, nil, []store.DropRow{{Tag: 1, UnitKey: unitKey(1)}}, store.ToolReplyRow{CallID: "c", Reply: "r", At: at.UnixMilli()}))
	Must(t, s.Models.SaveLimits(t.Context(), models.LimitsRow{Provider: "p", Model: "m-" + id, At: at.UnixMilli()}))
	return c.Session.Key
}

func publishMany(t *testing.T, s *store.Store, key store.Key, units int) {
	t.Helper()
	acquired, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), "run-1")
	if err != nil || !acquired {
		t.Fatalf("no lease: %v", err)
	}
	p := store.Publication{Key: key, Holder: "run-1", After: store.HistoryEnd{Ordinal: 1}, Run: work.RunRow{Kind: "incremental"}}
	p.Project, p.Facts, p.Marker = Project, []chronicle.Fact{{Category: "NAMING", Content: "use bun"}}, `{"ordinal":1}`
	for n := 1; n <= units; n++ {
		p.Compartments = append(p.Compartments, chronicle.Compartment{Start: n, End: n, MadeBy: "model"})
	}
	Must(t, s.History.Publish(t.Context(), p))
	Must(t, s.History.SaveStaging(t.Context(), key, "run-1", store.Staging{Compartments: p.Compartments}))
	Must(t, s.Leases.Release(t.Context(), store.HistorianOf(key), "run-1"))
}

// TablesOfSessions names the tables that hold rows of sessions.
func TablesOfSessions(t *testing.T, c *sqlite3.Conn) (tables []string) {
	t.Helper()
	Must(t, file.Scan(c, `
		SELECT m.name FROM sqlite_schema AS m
		JOIN pragma_table_info(m.name) AS i
		WHERE m.type = 'table' AND i.name = 'session_id'`,
		func(row *sqlite3.Stmt) { tables = append(tables, row.ColumnText(0)) }))
	return tables
}

func Rows(t testing.TB, s *store.Store) (rows []string) {
	t.Helper()
	Must(t, s.View(t.Context(), func(c *sqlite3.Conn) error {
		var tables []string
		err := file.Scan(c, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`, func(row *sqlite3.Stmt) {
			tables = append(tables, row.ColumnText(0))
		})
		for _, name := range tables {
			if err != nil {
				break
			}
			err = file.Scan(c, `SELECT * FROM `+name, func(row *sqlite3.Stmt) {
				text := name
				for i := range row.ColumnCount() {
					text += " " + row.ColumnText(i)
				}
				rows = append(rows, text)
			})
		}
		return err
	}))
	return rows
}
