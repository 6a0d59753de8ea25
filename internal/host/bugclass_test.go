package host

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// This file tests the bug classes of docs/defects.md that concern the host, each under its id.

var testKey = store.Key{Harness: "opencode", Session: testSession}

func ownPrompt(block string) string {
	own, _, _ := strings.Cut(block, "\n\n## Magic Context")
	return own
}

func (h *harness) ask(prompt string) string {
	h.t.Helper()
	r, err := h.host.System(h.t.Context(), h, schema.SystemParams{Session: testSession, Directory: "/p", System: []string{prompt}})
	if err != nil {
		h.t.Fatal(err)
	}
	return ownPrompt(r.System[0])
}

func (h *harness) flush() {
	h.t.Helper()
	if _, err := h.host.CommandExecute(h.t.Context(), h, schema.CommandExecuteParams{Session: testSession, Command: "ctx-flush"}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) snapshot() store.Snapshot {
	h.t.Helper()
	snap, _, err := h.store.Load(h.t.Context(), testKey)
	if err != nil {
		h.t.Fatal(err)
	}
	return snap
}

func (h *harness) busts() int {
	n := 0
	for _, p := range h.journal() {
		if p.Bust {
			n++
		}
	}
	return n
}

// A5: /ctx-flush asks for one bust, so only the next pass may bust. The bug: the request was not used up, and each
// later pass busted again.
func TestBugA5FlushIsSpentByItsPass(t *testing.T) {
	h := turn(t)
	h.drop("call_1", "2")
	h.flush()
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "flush" {
		t.Fatalf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	for range 2 {
		if m := h.pass(); m.Verdict != schema.Steady {
			t.Errorf("again: %s (%s)", m.Verdict, m.Cause)
		}
		h.restart()
	}
}

// A10: the first request after a long pause ends the pause. The host must still know of this request after a restart.
// Otherwise, it would treat the session as idle and bust again.
func TestBugA10RestartDoesNotMakeTheSessionIdleAgain(t *testing.T) {
	h := turn(t)
	h.clock.Advance(8 * time.Hour)
	h.user("u9", "good morning")
	if m := h.pass(); m.Cause != "idle" {
		t.Fatalf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	h.restart()
	h.clock.Advance(time.Second)
	h.user("u10", "hello?")
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
}

// A11: a new date in the system prompt would bust the prefix at midnight, so the host keeps the old date.
func TestBugA11MidnightLeavesThePromptAlone(t *testing.T) {
	h := turn(t)
	h.ask("A\nToday's date: 1")
	before := h.busts()
	for range 2 {
		if got := h.ask("A\nToday's date: 2"); got != "A\nToday's date: 1" {
			t.Errorf("got %q", got)
		}
		h.restart()
		h.pass()
	}
	if n := h.busts() - before; n != 0 {
		t.Errorf("%d busts", n)
	}
}

// A12: the system prompt keeps its old date while the prefix is cached. After a hard pass, nothing is cached, so the
// next request may send the new date. The host may restart before that request. Then a later request may send the new
// date instead.
func TestBugA12DateWaitsForItsRequest(t *testing.T) {
	for _, isSent := range []bool{true, false} {
		h := turn(t)
		h.ask("A\nToday's date: 1")
		h.clock.Advance(8 * time.Hour)
		h.user("u9", "good morning")
		if m := h.pass(); m.Verdict != schema.Hard || m.Cause != "idle" {
			t.Fatalf("verdict %s (%s)", m.Verdict, m.Cause)
		}
		if !isSent {
			h.restart()
			h.tool("a9", "x", "tool-calls", 1000)
			h.pass()
		}
		for range 2 {
			if got := h.ask("A\nToday's date: 2"); got != "A\nToday's date: 2" {
				t.Errorf("sent %t: got %q", isSent, got)
			}
		}
		if got := h.ask("A\nToday's date: 3"); got != "A\nToday's date: 2" {
			t.Errorf("sent %t: got %q", isSent, got)
		}
	}
}

// A13: some hashes look like numbers, for example "1e5". The database must store them as texts. If it converted them to
// numbers, they would no longer equal the original hash.
func TestBugA13HashIsText(t *testing.T) {
	h := turn(t)
	for _, hash := range []string{"0012345678901234567890123456789012345678", "1e5", "0x10", "12345678901234567890"} {
		want := store.SystemState{StickyDate: "1", StickyDateEpoch: 1, SystemHash: hash}
		if err := h.store.SaveSystem(t.Context(), testKey, want); err != nil {
			t.Fatal(err)
		}
		if got := h.row().System; got != want {
			t.Errorf("stored %+v, read %+v", want, got)
		}
	}
}

// A14, A15: a pass may give a new unit a tag that is already in the database. Only this pass may fail. The next pass
// must reload the state and work again. Otherwise, all passes would fail, and dropped content would come back until the
// host restarts.
func TestBugA14TakenTagCostsOnePass(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	h.flush()
	h.pass()
	before := h.wire()
	if !strings.Contains(before, "[dropped §2§]") {
		t.Fatalf("wire:\n%s", before)
	}
	other, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(h.dir, "magicctx.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `INSERT INTO units (harness, session_id, tag, unit_key, message_key, kind, tool, bytes, tokens, input_bytes, input_tokens)
		VALUES ('opencode', 'ses_1', 5, 'foreign', 'foreign', 'text', '', 1, 1, 0, 0)`); err != nil {
		t.Fatal(err)
	}
	h.user("u3", "more")
	if _, err := h.transform(); err == nil {
		t.Fatal("a tag was given twice")
	}
	h.pass()
	if got := h.wire(); got != before+"u3: §6§ more\n" {
		t.Errorf("wire:\n%s", got)
	}
	if n := h.busts(); n != 1 { // the flush
		t.Errorf("%d busts", n)
	}
}

// A22: a reminder must not change content that an earlier request already contained. So the host adds it to new
// content, and repeats it there in all later wires.
func TestBugA22ReminderBustsNothing(t *testing.T) {
	bothHarnesses(t, func(t *testing.T, kind schema.Harness) {
		h := newHarnessOf(t, kind)
		h.user("u1", "read all of it")
		h.pass()
		before, notes := h.wire(), 0
		for i := range 8 {
			h.read(fmt.Sprint("a", i), big, 20_000+4_000*i)
			after := h.wire()
			if !strings.HasPrefix(after, before) {
				t.Fatalf("pass %d changed what was sent:\n%.300s", i, after)
			}
			if strings.Contains(after[len(before):], "<system-reminder>") {
				notes++
				h.restart()
			}
			before = after
		}
		if notes < 2 || h.busts() != 0 {
			t.Errorf("%d notes, %d busts", notes, h.busts())
		}
		for _, raw := range h.messages {
			if strings.Contains(string(raw), "<system-reminder>") {
				t.Errorf("the harness stores a note: %.300s", raw)
			}
		}
	})
}

// A26, and defect C14: a session keeps its mode even when the harness cuts off its first user message. If the host
// derived the mode from the permissions of the array's first message, the mode could change with each pass.
func TestBugA26ModeDoesNotFlap(t *testing.T) {
	h := newHarness(t)
	say := func(id, tools string) {
		h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"user","time":{"created":%d},"tools":%s,"model":{"providerID":"anthropic","modelID":"m"}},`+
			`"parts":[{"id":"p-%[1]s","type":"text","text":"hi"}]}`, id, h.clock.Now(), tools)
	}
	say("u1", `{"*":false}`)
	h.pass()
	say("u2", `{"ctx_reduce":true}`)
	h.pass()
	h.messages, h.told, h.revision = h.messages[1:], 0, 0 // the harness has cut off the first message
	h.restart()
	h.pass()
	if got := h.wire(); got != "u2: hi\n" {
		t.Errorf("the mode changed: %q", got)
	}
	must(t, h.store.DeleteSession(t.Context(), testKey))
	h.restart()
	h.pass()
	if got := h.wire(); got != "u2: §1§ hi\n" {
		t.Errorf("a new session of that id was not judged anew: %q", got)
	}
}

// A28: a configured threshold above the maximum is replaced by the maximum.
func TestBugA28ThresholdIsCapped(t *testing.T) {
	h := newHarness(t)
	h.config.ExecuteThresholdPercentage = map[string]float64{"default": 99}
	h.user("u1", "go")
	h.tool("a1", found, "stop", 1000)
	h.user("u2", "on")
	h.pass()
	h.drop("call-1", "2")
	h.tool("a2", "x", "stop", 81_000)
	h.user("u3", "on")
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "pressure" {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
}

// A36: two passes of one session must not run at once. Otherwise, one pass could use up the other pass's reason for a
// bust.
func TestBugA36PassesOfASessionTakeTurns(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	h.flush()
	before := h.row().Passes
	messages, err := json.Marshal(h.messages)
	if err != nil {
		t.Fatal(err)
	}
	const n = 8
	verdicts := make(chan string, n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			m, err := h.host.Transform(context.Background(), h, schema.TransformParams{Session: testSession, Directory: "/p", Messages: messages})
			if err != nil {
				t.Error(err)
			}
			verdicts <- m.Cause
		})
	}
	wg.Wait()
	close(verdicts)
	causes := map[string]int{}
	for cause := range verdicts {
		causes[cause]++
	}
	if causes["flush"] != 1 || len(causes) != 2 || h.row().Passes != before+n || h.busts() != 1 {
		t.Errorf("causes %v, %d passes, %d busts", causes, h.row().Passes-before, h.busts())
	}
}

// A38: the limit from one model's refusal does not apply to the next model.
func TestBugA38LimitBelongsToItsModel(t *testing.T) {
	h := turn(t)
	h.refuse("a9", 80_000)
	say := func(id, model string) {
		h.clock.Advance(time.Second)
		h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"user","time":{"created":%d},"model":{"providerID":"anthropic","modelID":%q}},"parts":[{"id":"p-%[1]s","type":"text","text":"hi"}]}`, id, h.clock.Now(), model)
		h.pass()
	}
	say("u3", "other")
	if st := h.sessionStatus(); st.ContextTokens != 100_000 || st.LimitSource != schema.LimitCatalogue {
		t.Errorf("the other model's window is %d by %s", st.ContextTokens, st.LimitSource)
	}
	say("u4", "m")
	if st := h.sessionStatus(); st.ContextTokens != 80_000 || st.LimitSource != schema.LimitOverflow {
		t.Errorf("the first model's window is %d by %s", st.ContextTokens, st.LimitSource)
	}
}

// B19: a reminder is about output that the model can drop. After a bust has removed this output, the host must remind
// the model of new output, even if the old reminder already had the same level.
func TestBugB19ReminderConcernsThePresentPile(t *testing.T) {
	h := reading(t, 40_000)
	if h.nudge() == (store.NudgeRow{}) {
		t.Fatal("no reminder")
	}
	h.drop("call-1", "2,3,4")
	h.flush()
	if note := h.read("b0", "short", 20_000); note != "" || !strings.Contains(h.wire(), "[dropped §3§]") {
		t.Fatalf("note %q, wire:\n%.300s", note, h.wire())
	}
	notes := ""
	for i := range 5 {
		notes += h.read(fmt.Sprint("c", i), big, 40_000)
	}
	if !strings.Contains(notes, "ctx_reduce") || strings.Contains(notes, "§3§") {
		t.Errorf("notes of a new pile: %q", notes)
	}
}

// B20: the host gives some reminders only once. It must not use one up while the model's limit is unknown, because it
// can then only guess whether the reminder is needed.
func TestBugB20MessageIsNotSpentOnAGuess(t *testing.T) {
	h := newHarness(t)
	h.limits = schema.ModelLimits{}
	h.user("u1", "read all of it")
	h.pass()
	for i := range 3 {
		if note := h.read(fmt.Sprint("a", i), big, 55_000); note != "" {
			t.Fatalf("note %q", note)
		}
	}
	h.limits = schema.ModelLimits{ContextTokens: 100_000, NPM: "@ai-sdk/anthropic"}
	h.restart()
	if note := h.read("b1", "short", 55_000); !strings.Contains(note, "it comes once") || !h.nudge().HasMessage {
		t.Errorf("note %q", note)
	}
}

// B23: the header of a broken PNG may claim a size of billions of pixels. The host's estimate for the image must not
// overflow to a negative number.
func TestBugB23BrokenImageHasASize(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\x00\x00\x00"
	h := newHarness(t)
	h.add(`{"info":{"id":"u1","sessionID":"ses_1","role":"user","time":{"created":1},"model":{"providerID":"anthropic","modelID":"m"}},`+
		`"parts":[{"id":"p1","type":"file","mime":"image/png","url":"data:image/png;base64,%s"}]}`, base64.StdEncoding.EncodeToString([]byte(png)))
	h.pass()
	if units := h.snapshot().Units; len(units) != 1 || units[0].Tokens < 1 || units[0].Tokens > 4500 {
		t.Errorf("units %+v", units)
	}
}

type asker struct {
	*harness
	questions int
}

func (a *asker) ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error) {
	a.questions++
	return a.harness.ModelLimits(ctx, p)
}

// B24: during a steady pass, the host must not ask other processes for facts that do not change.
func TestBugB24SteadyPassAsksNothing(t *testing.T) {
	h := turn(t)
	a := &asker{harness: h}
	if _, err := h.host.Initialize(t.Context(), a, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if i == 1 {
			a.questions = 0 // the first pass of a connection asks for the model's limits
		}
		h.tool(fmt.Sprint("b", i), "x", "tool-calls", 1000)
		p := schema.TransformParams{Session: testSession, Directory: "/p", Base: h.revision, Keep: h.told}
		var err error
		if p.Messages, err = json.Marshal(h.messages[h.told:]); err != nil {
			t.Fatal(err)
		}
		m, err := h.host.Transform(t.Context(), a, p)
		if err != nil {
			t.Fatal(err)
		}
		h.revision, h.told = m.Revision, len(h.messages)
	}
	if a.questions > 0 {
		t.Errorf("%d questions", a.questions)
	}
}

// C20: if a message is removed from the session, its drops, edits and sources must not stay in the database for ever.
func TestDefectC20RemovedMessageLeavesNothing(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	h.flush()
	h.pass() // the pass edits the unit of tag 2
	h.drop("call-2", "3,4")
	for _, message := range []string{"a1", "a2"} {
		h.event(`{"type":"message.removed","properties":{"sessionID":"ses_1","messageID":%q}}`, message)
	}
	for range 2 {
		snap := h.snapshot()
		if len(snap.Units) != 2 || len(snap.Edits) != 0 || len(snap.Queued) != 1 || snap.Queued[0].Tag != 4 {
			t.Errorf("left: units %+v, edits %+v, queued %+v", snap.Units, snap.Edits, snap.Queued)
		}
		h.messages = append(h.messages[:1:1], h.messages[len(h.messages)-1])
		h.told, h.revision = 0, 0
		h.pass()
	}
	if got := h.wire(); got != "u1: §1§ find it\nu2: §4§ thanks\n" {
		t.Errorf("wire:\n%s", got)
	}
}
