package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/store/file"
)

func TestRepeatedToolCallQueuesNothing(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	must(t, s.CommitPass(ctx, commit(key, 1)))
	call := ToolReplyRow{CallID: "call_1", Reply: "queued §1§", At: now}
	must(t, s.QueueDrops(ctx, key, nil, []DropRow{{Tag: 1, QueuedAt: now}}, call))

	drain := commit(key, 2)
	drain.Drained = []int{1}
	must(t, s.CommitPass(ctx, drain))

	again := call
	again.Reply = "something else"
	must(t, s.QueueDrops(ctx, key, nil, []DropRow{{Tag: 1, QueuedAt: now + 1}}, again))
	if queued := load(t, s, key).Queued; len(queued) != 0 {
		t.Errorf("a repeated call queued %v", queued)
	}
	reply, _, err := s.ToolReply(ctx, key, "call_1")
	must(t, err)
	if reply != call.Reply {
		t.Errorf("reply is %q, want the first one", reply)
	}
}

// Fixed bug: a pass could not store a new unit, because the database was locked. A later drop of the unit was stored
// without the unit. If the host was then killed, the stored drop named a tag that no unit had.
func TestUnsavedUnitsAreStoredWithTheDropsOfThem(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	lost := commit(key, 2)
	unlock := lockDatabase(t, dir)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.CommitPass(short, lost); !errors.Is(err, ErrBusy) {
		t.Fatalf("commit into a locked database: %v", err)
	}
	drops := []DropRow{{Tag: 3, UnitKey: unitKey(3), QueuedAt: now}}
	short, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.QueueDrops(short, key, lost.Units, drops, ToolReplyRow{CallID: "c", Reply: "r"}); !errors.Is(err, ErrBusy) {
		t.Fatalf("queue in a locked database: %v", err)
	}
	unlock()
	if got := load(t, s, key); len(got.Units) != 2 || len(got.Queued) != 0 || got.Session.TagCounter != 2 {
		t.Errorf("a refused write left %+v", got)
	}
	must(t, s.QueueDrops(t.Context(), key, lost.Units, drops, ToolReplyRow{CallID: "c", Reply: "r"}))
	got := load(t, s, key)
	if len(got.Units) != 4 || got.Session.TagCounter != 4 {
		t.Errorf("%d units, tag counter %d", len(got.Units), got.Session.TagCounter)
	}
	same(t, "queued", got.Queued, drops)

	// The tag of a removed unit is not given again.
	must(t, s.RemoveMessages(t.Context(), key, []string{"msg_2"}))
	if got := load(t, s, key); len(got.Units) != 2 || len(got.Queued) != 0 || got.Session.TagCounter != 4 {
		t.Errorf("after the removal: %+v", got)
	}
}

func lockDatabase(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	other, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(file.PathIn(dir)))
	must(t, err)
	t.Cleanup(func() { other.Close() })
	lock, err := other.Conn(t.Context())
	must(t, err)
	_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		_, err := lock.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
		must(t, lock.Close())
	}
}
