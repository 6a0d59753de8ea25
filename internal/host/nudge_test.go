package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/nudge"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// after runs a tool with an output of this many bytes, and returns the appended text.
func (h *harness) after(tool string, bytes int) string {
	h.t.Helper()
	return h.afterOutput(tool, strings.Repeat("x", bytes))
}

func (h *harness) afterOutput(tool, output string) string {
	h.t.Helper()
	r, err := h.host.ToolAfter(h.t.Context(), h, schema.ToolAfterParams{Session: testSession, Tool: tool, CallID: "c", Args: json.Value("{}"), Output: output})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Append
}

func (h *harness) nudge() store.NudgeRow {
	h.t.Helper()
	n, err := h.store.Nudge(h.t.Context(), store.Key{Harness: "opencode", Session: testSession})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// reading returns a session whose model has read a lot. The window is 100,000
// tokens, of which 65,000 lie below the threshold. There are three outputs of
// 6,000 tokens each.
func reading(t *testing.T, promptTokens int) *harness {
	h := newHarness(t)
	h.user("u1", "read all of it")
	h.pass()
	for i := range 3 {
		h.tool(fmt.Sprint("a", i), strings.Repeat("one two three\n", 1_500), "tool-calls", promptTokens)
		h.pass()
	}
	return h
}

func TestReminderNamesWhatCanGo(t *testing.T) {
	// The prompt has 40,000 tokens and 10,000 more from this turn: pressure
	// 50/65. The pile is two of the three outputs, about 10,000 tokens, and the
	// 10,000 of the turn: 20/65 of the window. The product is 0.24, which is
	// gentle.
	h := reading(t, 40_000)
	got := h.after("read", 40_000)
	for _, want := range []string{"\n\n<system-reminder>\n", "ctx_reduce", "§2§ read · §3§ read", "k tokens", "\n</system-reminder>"} {
		if !strings.Contains(got, want) {
			t.Errorf("reminder lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "§4§") {
		t.Errorf("it names a protected unit:\n%s", got)
	}
	if n := h.nudge(); n.Cycle.Level != "gentle" {
		t.Errorf("stored %+v", n.Cycle)
	}
	if again := h.after("read", 10); again != "" {
		t.Errorf("it is said twice:\n%s", again)
	}
}

func TestReminderIsGivenOnceATone(t *testing.T) {
	h := reading(t, 40_000)
	if h.after("read", 40_000) == "" {
		t.Fatal("no reminder")
	}
	for i := range 3 { // the same on each pass, even after a restart
		h.tool(fmt.Sprint("b", i), "short", "tool-calls", 40_000)
		if i == 1 {
			h.restart()
		}
		h.pass()
		if got := h.after("read", 40_000); got != "" {
			t.Errorf("pass %d nags:\n%s", i, got)
		}
	}
	// The prompt has grown to 45,000 tokens. The pile, with the turn, has grown
	// to 40,000: 40/65 of the window at a pressure of 55/65 are 0.52, which is
	// firm.
	h.tool("b9", strings.Repeat("one two three\n", 3_000), "tool-calls", 45_000)
	h.tool("b10", "short", "tool-calls", 45_000)
	h.pass()
	if got := h.after("read", 40_000); !strings.Contains(got, "natural stop") {
		t.Errorf("want the firm one:\n%s", got)
	}
}

func TestDroppingBeginsAnew(t *testing.T) {
	h := reading(t, 40_000)
	if h.after("read", 40_000) == "" {
		t.Fatal("no reminder")
	}
	h.drop("call-1", "2")
	if got := h.after("ctx_reduce", 10); got != "" {
		t.Errorf("ctx_reduce is answered by a reminder:\n%s", got)
	}
	if n := h.nudge(); n.Cycle != (store.NudgeCycle{}) {
		t.Errorf("stored %+v", n.Cycle)
	}
	if got := h.after("read", 160_000); got != "" {
		t.Errorf("the model has just reduced:\n%s", got)
	}
	h.tool("b1", "short", "tool-calls", 60_000)
	h.pass()
	got := h.after("read", 80_000)
	if !strings.Contains(got, "§3§ read") || strings.Contains(got, "§2§") {
		t.Errorf("want a reminder that leaves out what is marked:\n%s", got)
	}
}

func TestReminderIsOnlyForWhoCanAct(t *testing.T) {
	h := reading(t, 40_000)
	if got := h.afterOutput("read", strings.Repeat("x", 40_000)+"\n<system-reminder>the harness's own</system-reminder>"); got != "" {
		t.Errorf("two reminders in one output:\n%s", got)
	}
	if got := h.afterOutput("read", " \n"); got != "" {
		t.Errorf("an empty output is filled:\n%s", got)
	}
	if got := h.after("read", 10); got == "" {
		t.Error("the outputs without a reminder do not count")
	}

	h.restart() // no pass yet
	if got := h.after("read", 40_000); got != "" {
		t.Errorf("reminded without a pass:\n%s", got)
	}
	if _, err := h.host.ToolAfter(t.Context(), h, schema.ToolAfterParams{Session: "ses_other", Tool: "read", Output: "x"}); err != nil {
		t.Error(err)
	}

	off := newHarness(t)
	off.config.CtxReduceEnabled = false
	off.user("u1", "read")
	off.tool("a1", strings.Repeat("one two three\n", 9_000), "tool-calls", 60_000)
	off.pass()
	if got := off.after("read", 40_000); got != "" {
		t.Errorf("a model without ctx_reduce is told to use it:\n%s", got)
	}
	unknown := newHarness(t)
	unknown.limits = schema.ModelLimits{}
	unknown.user("u1", "read")
	unknown.tool("a1", strings.Repeat("one two three\n", 9_000), "tool-calls", 60_000)
	unknown.pass()
	if got := unknown.after("read", 40_000); got != "" {
		t.Errorf("a guess of the window nags:\n%s", got)
	}
}

func TestToolAfterIsOfferedOnlyWithCtxReduce(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		h := newHarness(t)
		h.config.CtxReduceEnabled = enabled
		r, err := h.host.Initialize(t.Context(), h, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Hooks, " "), schema.MethodToolAfter); got != enabled {
			t.Errorf("ctx_reduce %t: hooks %v", enabled, r.Hooks)
		}
	}
}

// step reports that a step of the model has ended.
func (h *harness) step(id, finish string) {
	h.t.Helper()
	h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":%q,"sessionID":"ses_1","role":"assistant",`+
		`"time":{"created":%d,"completed":%[2]d},"providerID":"anthropic","modelID":"m","finish":%q,"tokens":{"input":40000,"output":1,"cache":{"read":0,"write":0}}}}}`,
		id, h.clock.Now(), finish)
	h.host.sending.Wait()
}

// full returns a session that can drop a third of its usable space. Usable are
// 65,000 less 55,000, plus the 15,000 and more tokens of the outputs.
func full(t *testing.T) *harness { return reading(t, 55_000) }

func TestMessageIsSentOnceInASession(t *testing.T) {
	h := full(t)
	h.step("b0", "length")
	if len(h.sent) != 0 {
		t.Fatalf("sent after a step that was cut off: %+v", h.sent)
	}
	h.step("b1", "tool-calls")
	if len(h.sent) != 1 {
		t.Fatalf("%d messages", len(h.sent))
	}
	got := h.sent[0]
	if !strings.Contains(got.Text, "ctx_reduce") || !strings.Contains(got.Text, "§2§ read") {
		t.Errorf("text:\n%s", got.Text)
	}
	got.Text = ""
	if want := (schema.MessageSendParams{Directory: "/p", Session: testSession, Synthetic: true, MidTurn: true, Key: nudgeKey}); got != want {
		t.Errorf("params %+v, want %+v", got, want)
	}
	if n := h.nudge(); n.Message != store.MessageDelivered {
		t.Errorf("stored %+v", n)
	}
	for range 2 {
		h.step("b2", "stop")
		h.restart()
		h.pass()
	}
	if len(h.sent) != 1 {
		t.Errorf("%d messages", len(h.sent))
	}
}

func TestMessageThatWasNotSentIsTriedAgain(t *testing.T) {
	h := full(t)
	h.sendErr = errors.New("the harness is gone")
	h.step("b1", "tool-calls")
	if n := h.nudge(); n.Message != store.MessagePending {
		t.Fatalf("stored %+v", n)
	}
	h.sendErr = nil
	h.step("b1", "stop")
	if n := h.nudge(); n.Message != store.MessageDelivered || len(h.sent) != 2 || h.sent[1].MidTurn {
		t.Errorf("stored %+v, sent %+v", n, h.sent)
	}
}

func TestMessageNobodyNeedsAnyMoreIsTakenBack(t *testing.T) {
	h := full(t)
	h.sendErr = errors.New("busy")
	h.step("b1", "tool-calls")
	h.drop("call-1", "2,3")
	h.after("ctx_reduce", 10)
	h.step("b2", "tool-calls")
	if n := h.nudge(); n.Message != store.MessageNone || len(h.sent) != 1 {
		t.Errorf("stored %+v, %d sent", n, len(h.sent))
	}
}

func TestClaimOfAnotherIsRespectedWhileItLives(t *testing.T) {
	h := full(t)
	key := store.Key{Harness: "opencode", Session: testSession}
	if _, err := h.store.MoveMessage(t.Context(), key, store.MessageNone, store.MessagePending); err != nil {
		t.Fatal(err)
	}
	if claimed, err := h.store.ClaimMessage(t.Context(), key, h.clock.Now()); err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	h.clock.Advance(119 * time.Second)
	h.step("b1", "tool-calls")
	if len(h.sent) != 0 {
		t.Error("a live claim was stolen")
	}
	h.clock.Advance(time.Second)
	h.step("b2", "tool-calls")
	if n := h.nudge(); len(h.sent) != 1 || n.Message != store.MessageDelivered {
		t.Errorf("%d sent, stored %+v", len(h.sent), n)
	}
}

func TestNoMessageWhileThereIsRoom(t *testing.T) {
	h := reading(t, 10_000) // usable is about 70,000, the pile 12,000
	h.step("b1", "tool-calls")
	if n := h.nudge(); len(h.sent) != 0 || n.Message != store.MessageNone {
		t.Errorf("%d sent, stored %+v", len(h.sent), n)
	}
}

func TestNudgeTextsSpeakToTheModel(t *testing.T) {
	for _, level := range []nudge.Level{nudge.Gentle, nudge.Firm, nudge.Urgent} {
		got := reminder(level, 60_499, []nudge.Unit{{Tag: 3, Tool: "bash"}, {Tag: 7}})
		for _, want := range []string{"60k tokens", "\nOldest that can go: §3§ bash · §7§ tool\n</system-reminder>"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", level, want, got)
			}
		}
		if got := reminder(level, 60_000, nil); strings.Contains(got, "Oldest") || !strings.HasSuffix(got, ".\n</system-reminder>") {
			t.Errorf("%s without tags:\n%q", level, got)
		}
	}
}
