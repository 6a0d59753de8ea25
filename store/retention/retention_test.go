package retention_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/retention"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func rowsOf(t *testing.T, s *store.Store, key store.Key) (total int, largest int) {
	t.Helper()
	storetest.Must(t, s.View(t.Context(), func(c *sqlite3.Conn) error {
		for _, table := range storetest.TablesOfSessions(t, c) {
			n := 0
			err := file.Scan(c, `SELECT count(*) FROM `+table+` WHERE harness = ? AND session_id = ?`,
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

// Fixed bug: a session that the harness deleted while no host was running stayed for ever with all its units.
func TestB10ExpiredSessionIsForgottenInSmallSteps(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	today := time.UnixMilli(storetest.Now).Add(retention.KeptSession + time.Hour)
	old := storetest.Used(t, s, "old", "", time.UnixMilli(storetest.Now), 1300, 7)
	live := storetest.Used(t, s, "live", "", today, 20, 8)
	before := today.Add(-retention.KeptSession).UnixMilli()
	keys, err := retention.Expired(t.Context(), s, before)
	storetest.Must(t, err)
	storetest.Same(t, "expired", keys, []store.Key{old})

	last, _ := rowsOf(t, s, old)
	liveRows, _ := rowsOf(t, s, live)
	for isDone := false; !isDone; {
		isDone, err = retention.ForgetSome(t.Context(), s, old, before)
		storetest.Must(t, err)
		left, _ := rowsOf(t, s, old)
		if !isDone && (last-left < 1 || last-left > 500) {
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

func TestB10LiveSessionsKeepTheirRows(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	long := time.UnixMilli(storetest.Now)
	today := long.Add(retention.KeptSession + time.Hour)
	storetest.Used(t, s, "original", "", long, 3, 7)
	storetest.Used(t, s, "fork", "", today, 3, 7)
	storetest.Used(t, s, "parent", "", long, 3, 8)
	storetest.Used(t, s, "child", "parent", today, 3, 9)
	gone := storetest.Used(t, s, "gone", "", long, 3, 10)
	storetest.Used(t, s, "gone's child", "gone", long, 3, 11)
	before := today.Add(-retention.KeptSession).UnixMilli()
	keys, err := retention.Expired(t.Context(), s, before)
	storetest.Must(t, err)
	slices.SortFunc(keys, func(a, b store.Key) int { return len(a.Session) - len(b.Session) })
	storetest.Same(t, "expired", keys, []store.Key{gone, {Harness: "opencode", Session: "gone's child"}})

	used2 := gone // the session is used between two steps
	s.Clock.(*clock.Manual).Set(today.UnixMilli())
	storetest.Must(t, s.RequestFlush(t.Context(), used2, today.UnixMilli()))
	was, _ := rowsOf(t, s, gone)
	isDone, err := retention.ForgetSome(t.Context(), s, gone, before)
	storetest.Must(t, err)
	if n, _ := rowsOf(t, s, gone); !isDone || n != was {
		t.Errorf("a session that is used again lost %d rows", was-n)
	}
}

func TestB10RepliesExpire(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	ctx := t.Context()
	long := time.UnixMilli(storetest.Now)
	key := storetest.Used(t, s, "a", "", long, 1, 7)
	storetest.Must(t, s.QueueDrops(ctx, key, nil, nil, store.ToolReplyRow{CallID: "new", Reply: "r", At: storetest.Now + 5000}))

	isDone, err := retention.ForgetReplies(ctx, s, storetest.Now+1000)
	storetest.Must(t, err)
	_, hasOld, err := s.ToolReply(ctx, key, "c")
	storetest.Must(t, err)
	_, hasNew, err := s.ToolReply(ctx, key, "new")
	storetest.Must(t, err)
	if !isDone || hasOld || !hasNew {
		t.Errorf("done %v, the old reply is there: %v, the new one: %v", isDone, hasOld, hasNew)
	}
}
