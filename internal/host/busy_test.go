package host

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // the tests use this driver to act as another program that uses the file

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// Bug class B21 (docs/defects.md): a locked database must not delay the prompt, and an unstored decision must not
// show on the wire. So the pass is steady, and the bust comes later.
func TestBugB21BusyDatabaseDelaysTheBustNotTheWire(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	before := h.wire()
	unlock := h.lockDatabase()

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

	unlock()
	if m := h.pass(); m.Cause != "pressure" || !strings.Contains(h.wire(), "[dropped §2§]") {
		t.Errorf("%s (%s) after the lock was gone:\n%s", m.Verdict, m.Cause, h.wire())
	}
	h.restart()
	if got := h.drop("call-2", "6"); !strings.HasPrefix(got, "Marked for later") {
		t.Errorf("the unit of the busy pass was not stored: %q", got)
	}
}

// F27: the system prompt changes, and the pass of the request cannot be stored. The request still has the new system
// prompt, and busts the prefix. The journal must record this bust for the next stored pass.
func TestSystemPromptThatChangesAfterALostPassIsABustOfTheNextStoredPass(t *testing.T) {
	for name, lose := range map[string]func(*harness){
		"locked": func(h *harness) {
			defer h.lockDatabase()()
			h.pass()
		},
		"locked, and the host is new": func(h *harness) {
			h.restart()
			defer h.lockDatabase()()
			h.pass()
		},
		"failed": func(h *harness) {
			p := schema.TransformParams{Session: testSession, Directory: h.project, Base: h.revision, Keep: h.told, Messages: json.Value("[")}
			if _, err := h.host.Transform(h.ctx, h, p); err == nil {
				h.t.Error("half an array is accepted")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.user("u1", "find it")
			h.pass()
			h.ask("A")
			h.tool("a3", "three", "stop", 7000)
			h.user("u3", "go on")
			lose(h)
			if got := h.ask("B"); got != "B" {
				t.Errorf("the system prompt is %q", got)
			}
			h.user("u4", "go on")
			h.pass()
			h.ask("B")
			h.user("u5", "go on")
			h.pass()
			h.ask("B")
			var busts []string
			for _, r := range h.journal() {
				busts = append(busts, r.BustCause)
			}
			if want := []string{"", pipeline.BustSystem, ""}; !slices.Equal(busts, want) {
				t.Errorf("the busts of the passes are %q, want %q", busts, want)
			}
		})
	}
}

// F28: the host is killed before it has returned the system prompt for the first request. So only the second request
// has the guidance, and busts the prefix. The journal must record this bust.
func TestSystemPromptThatTheFirstRequestLackedIsABust(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "find it")
	h.pass()
	h.restart()
	h.tool("a1", found, "tool-calls", 1000)
	h.pass()
	h.ask("A")
	if rows := h.journal(); len(rows) != 2 || rows[0].Bust || rows[1].BustCause != pipeline.BustSystem {
		t.Errorf("%+v", rows)
	}
}

func (h *harness) lockDatabase() (unlock func()) {
	h.t.Helper()
	other, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(h.dir, "magicctx.db"))+"?_pragma=busy_timeout(1000)")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { other.Close() })
	lock, err := other.Conn(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := lock.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		h.t.Fatal(err)
	}
	h.host.guard.Patience = 100 * time.Millisecond // do not wait long for a lock that stays
	return func() {
		h.host.guard.Patience = commitTimeout
		if _, err := lock.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			h.t.Fatal(err)
		}
		lock.Close()
	}
}

func (h *harness) kill() { h.restart() }

func (h *harness) revert(id string) {
	h.t.Helper()
	for i, raw := range h.messages {
		if strings.Contains(string(raw), fmt.Sprintf(`{"info":{"id":%q,`, id)) {
			h.messages, h.told = h.messages[:i], min(h.told, i)
			return
		}
	}
	h.t.Fatalf("no message %s", id)
}

// F19: another program has locked the database. The next pass waits until the host has processed the event of the
// answer, so the event must not wait five seconds for each write.
func TestEventOfAnAnswerDoesNotWaitForALock(t *testing.T) {
	h := binding(t)
	h.think("a1", "one", 1000)
	h.pass()
	unlock := h.lockDatabase()
	h.think("a2", "two", 0) // without a usage, so that the binding is the first write
	newest := infoOf(t, h.messages[len(h.messages)-1])
	told := make(chan error, 1)
	go func() {
		event := fmt.Sprintf(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":%s}}`, newest)
		_, err := h.host.Event(t.Context(), h, schema.EventParams{Session: testSession, Event: json.Value(event), Sent: h.lastWire})
		told <- err
	}()
	select {
	case err := <-told:
		if err == nil {
			t.Error("nothing was to be written")
		}
	case <-time.After(3 * time.Second): // less than the store waits for a lock, but far more than CommitTimeout
		t.Error("the event waits for the lock")
		<-told
	}
	unlock()
	h.pass()
	h.wantThinking("after the lock", "a1", "a2")
	h.restart()
	h.lastWire = ""
	h.pass()
	h.wantThinking("restarted", "a1", "a2")
}

// F19: the event of a refused prompt must not wait for the lock, either. If the host cannot store a refusal, it must
// remember the refusal until a pass has freed space.
func TestRefusalDuringALockIsRemembered(t *testing.T) {
	h := turn(t)
	h.tool("a3", strings.Repeat("three ", 5000), "stop", 1000)
	h.tool("a4", strings.Repeat("four ", 5000), "stop", 1000)
	h.user("u3", "go on")
	h.pass()
	h.clock.Advance(time.Second)
	unlock := h.lockDatabase()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // less than the store waits for a lock
	defer cancel()
	refusal := `{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too much"}}}}`
	if _, err := h.host.Event(ctx, h, schema.EventParams{Session: testSession, Event: json.Value(refusal)}); err == nil || ctx.Err() != nil {
		t.Fatalf("the event ends with %v, its deadline with %v", err, ctx.Err())
	}
	unlock()
	if m := h.pass(); m.Cause != "overflow" {
		t.Errorf("%s (%s) after the lock was gone", m.Verdict, m.Cause)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("and again: %s (%s)", m.Verdict, m.Cause)
	}
}

// F19: a new host stores the model's limits during its first pass. This write must not wait long for a lock.
func TestFirstPassOfAHostDoesNotWaitForALock(t *testing.T) {
	h := turn(t)
	h.restart()
	defer h.lockDatabase()()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // less than the store waits for a lock
	defer cancel()
	h.ctx = ctx
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
}

// F21: a session's first pass cannot be stored, so its request lacks the host's system prompt. The host must not bind
// the answer's thinking to that system prompt.
func TestThinkingOfAnUnstoredFirstPassIsRemoved(t *testing.T) {
	h := newHarness(t)
	h.config.PreservedThinking = map[string]string{"default": "on"}
	h.restart()
	h.user("u1", "find it")
	unlock := h.lockDatabase()
	if m := h.pass(); m.Wire != "" {
		t.Errorf("the wire has the token %q, but its system prompt is not the host's", m.Wire)
	}
	const prompt = "You are an agent."
	params := schema.SystemParams{Session: testSession, Directory: "/p", System: []string{prompt}}
	if r, err := h.host.System(t.Context(), h, params); err != nil || r.System != nil {
		t.Fatalf("system prompt %q, %v, although nothing is stored", r.System, err)
	}
	h.think("a1", "one", 1000)
	unlock()
	h.pass()
	if r, err := h.host.System(t.Context(), h, params); err != nil || len(r.System) != 1 || !strings.Contains(r.System[0], "## Magic Context") {
		t.Fatalf("system prompt %q, %v, want the guidance after it", r.System, err)
	}
	h.wantThinking("after another system prompt")
	h.think("a2", "two", 1000)
	h.pass()
	h.wantThinking("after the host's", "a2")
}

// D6: a pass runs while the database is locked. Then the host is killed, and the pass's new units are lost. A queued
// drop of a lost unit must not remove the next unit with the same tag.
func TestDropOfALostUnitNeverTakesAnother(t *testing.T) {
	h := turn(t) // tags 1 to 4
	unlock := h.lockDatabase()
	h.tool("a3", found, "tool-calls", 1000)
	h.pass()
	if got := h.wire(); !strings.Contains(got, "a3: §5§ one") {
		t.Fatalf("wire:\n%s", got)
	}
	unlock()
	if got := h.drop("call-1", "5"); !strings.HasPrefix(got, "Marked") {
		t.Fatalf("reply %q", got)
	}
	h.kill()
	h.revert("a3")
	h.user("u3", "these are my own words")
	h.user("u4", "more")
	h.user("u5", "and more")
	h.pass()
	if _, err := h.host.CommandExecute(context.Background(), h, schema.CommandExecuteParams{Session: testSession, Command: "ctx-flush"}); err != nil {
		t.Fatal(err)
	}
	h.pass()
	if got := h.wire(); !strings.Contains(got, "these are my own words") {
		t.Errorf("the drop took another unit:\n%s", got)
	}
	if got := h.wire(); strings.Contains(got, "§5§") {
		t.Errorf("a tag was given twice:\n%s", got)
	}
}

// While the database is locked, the host refuses a drop. The next pass must not find a half-stored drop.
func TestDropIsRefusedWhileTheDatabaseIsBusy(t *testing.T) {
	h := turn(t)
	unlock := h.lockDatabase()
	h.tool("a3", found, "tool-calls", 1000)
	h.pass()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := h.host.ToolExecute(ctx, h, schema.ToolExecuteParams{
		Session: testSession, Directory: "/p", Tool: "ctx_reduce", CallID: "call-1", Args: json.Value(`{"drop":"5"}`),
	})
	if err == nil {
		t.Error("a drop was acknowledged that nobody has stored")
	}
	unlock()
	if got := h.drop("call-1", "5"); !strings.HasPrefix(got, "Marked") {
		t.Errorf("reply %q", got)
	}
	h.kill()
	h.user("u3", "more")
	h.pass()
	if got := h.drop("call-2", "5"); got != "1 needed nothing. Nothing to do." {
		t.Errorf("reply %q", got)
	}
}

// D6: a pass runs while the database is locked, and shows new tags to the model. No other unit may get these tags, even
// after a kill of the host or a revert.
func TestTagOfABusyPassIsNeverGivenAgain(t *testing.T) {
	for _, killedWhileLocked := range []bool{true, false} {
		h := turn(t) // tags 1 to 4
		unlock := h.lockDatabase()
		h.tool("a3", "three", "tool-calls", 1000)
		h.pass()
		h.tool("a4", "four", "stop", 1000)
		h.user("u3", "go on")
		h.pass()
		busy := h.wire()
		if !strings.HasSuffix(busy, "a3: §5§ three\na4: §6§ four\nu3: §7§ go on\n") {
			t.Fatalf("wire:\n%s", busy)
		}
		if killedWhileLocked {
			h.kill()
			h.pass()
			if got := h.wire(); got != busy {
				t.Errorf("after a kill:\n%swant:\n%s", got, busy)
			}
		}
		unlock()
		h.kill()
		h.revert("a4")
		h.user("u4", "other words")
		h.pass()
		if got := h.wire(); !strings.HasSuffix(got, "a3: §5§ three\nu4: §8§ other words\n") {
			t.Errorf("after a revert (killed while locked: %v):\n%s", killedWhileLocked, got)
		}
		h.kill()
		h.user("u5", "more")
		h.pass()
		if got := h.wire(); !strings.HasSuffix(got, "u4: §8§ other words\nu5: §9§ more\n") {
			t.Errorf("after another kill:\n%s", got)
		}
		for _, p := range h.journal() {
			if p.BustCause == pipeline.BustUnexplained {
				t.Errorf("pass %d busts without a reason", p.Pass)
			}
		}
	}
}

func TestTagOfABusyFirstPassIsNeverGivenAgain(t *testing.T) {
	h := newHarness(t)
	unlock := h.lockDatabase()
	h.user("u1", "first")
	h.pass()
	h.kill()
	unlock()
	h.revert("u1")
	h.user("u2", "second")
	h.pass()
	if got := h.wire(); got != "u2: §2§ second\n" {
		t.Errorf("wire:\n%s", got)
	}
	if got := h.drop("call-1", "1"); !strings.HasPrefix(got, "Marked") && !strings.HasPrefix(got, "1 needed") {
		t.Errorf("reply %q", got) // no unit has the tag
	}
	if got := h.wire(); got != "u2: §2§ second\n" {
		t.Errorf("wire:\n%s", got)
	}
}
