package host

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // another program that uses the file

	"github.com/magicctx/magicctx-host/schema"
)

// B21: a locked database must not take the prompt down, and what could not be
// stored must not be seen: the pass is a steady one, and the bust comes later.
func TestBugB21BusyDatabaseDelaysTheBustNotTheWire(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	before := h.wire()
	other, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(h.dir, "magicctx.db"))+"?_pragma=busy_timeout(1000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}

	h.tool("a3", "three", "stop", 70_000)
	h.user("u3", "go on")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	h.ctx = ctx
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Fatalf("verdict %s (%s) while nothing can be stored", m.Verdict, m.Cause)
	}
	if got := h.wire(); !strings.HasPrefix(got, before) || !strings.HasSuffix(got, "a3: §5§ three\nu3: §6§ go on\n") {
		t.Errorf("wire:\n%s", got)
	}

	if _, err := lock.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if m := h.pass(); m.Cause != "pressure" || !strings.Contains(h.wire(), "[dropped §2§]") {
		t.Errorf("%s (%s) after the lock was gone:\n%s", m.Verdict, m.Cause, h.wire())
	}
	h.restart()
	if got := h.drop("call-2", "6"); !strings.HasPrefix(got, "Marked for later") {
		t.Errorf("the unit of the busy pass was not stored: %q", got)
	}
}
