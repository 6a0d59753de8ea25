package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func (h *harness) event(format string, args ...any) {
	h.t.Helper()
	if _, err := h.host.Event(h.t.Context(), h, schema.EventParams{Directory: "/p", Sent: h.lastWire, Event: json.Value(fmt.Sprintf(format, args...))}); err != nil {
		h.t.Fatal(err)
	}
}

const tooLong = `{"name":"ContextOverflowError","data":{"message":"prompt is too long: 90000 tokens > %d maximum"}}`

// refuse plays a provider that refuses a prompt. OpenCode reports the refusal twice: as an error of the session, and in
// the step, which it writes more than once.
func (h *harness) refuse(id string, limit int) {
	h.t.Helper()
	err := fmt.Sprintf(tooLong, limit)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":%s}}`, err)
	for range 2 {
		h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":%q,"sessionID":"ses_1","role":"assistant",`+
			`"time":{"created":%d,"completed":%[3]d},"providerID":"anthropic","modelID":"m","error":%[4]s}}}`, id, h.clock.Now()-1, h.clock.Now(), err)
	}
}

func (h *harness) answered(id string, promptTokens int) {
	h.t.Helper()
	h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":%q,"sessionID":"ses_1","role":"assistant",`+
		`"time":{"created":%d,"completed":%[2]d},"providerID":"anthropic","modelID":"m","finish":"stop","tokens":{"input":%[3]d,"output":1,"cache":{"read":0,"write":0}}}}}`,
		id, h.clock.Now(), promptTokens)
}

func (h *harness) sessionStatus() schema.SessionStatus {
	h.t.Helper()
	st, err := h.host.SessionStatus(h.t.Context(), h, schema.SessionStatusParams{Harness: "opencode", Session: testSession})
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

func (h *harness) row() store.SessionRow {
	h.t.Helper()
	snap, _, err := h.store.Load(h.t.Context(), h.key(testSession))
	if err != nil {
		h.t.Fatal(err)
	}
	return snap.Session
}

func (h *harness) wantWindow(tokens int, source schema.LimitSource, at int64) {
	h.t.Helper()
	if st := h.sessionStatus(); st.ContextTokens != tokens || st.LimitSource != source || st.LimitAt != at {
		h.t.Errorf("window %d by %s at %d, want %d by %s at %d", st.ContextTokens, st.LimitSource, st.LimitAt, tokens, source, at)
	}
}

func TestRefusedPromptLowersTheWindowUntilALargerOneIsAccepted(t *testing.T) {
	h := turn(t)
	h.wantWindow(100_000, schema.LimitCatalogue, 0)

	h.clock.Advance(time.Minute)
	refusedAt := h.clock.Now()
	h.refuse("a9", 80_000)
	h.wantWindow(80_000, schema.LimitOverflow, refusedAt)
	if got := h.row().OverflowAt; got != refusedAt {
		t.Errorf("the session's overflow is at %d, want %d", got, refusedAt)
	}
	h.restart()
	h.wantWindow(80_000, schema.LimitOverflow, refusedAt)

	h.clock.Advance(time.Minute)
	h.answered("a10", 79_000) // this prompt is smaller than the limit, so it does not disprove the limit
	h.wantWindow(80_000, schema.LimitOverflow, refusedAt)
	h.answered("a11", 80_001)
	h.wantWindow(100_000, schema.LimitCatalogue, 0)
	h.answered("a12", 120_000)
	h.wantWindow(120_000, schema.LimitUsage, h.clock.Now())
	h.restart()
	h.wantWindow(120_000, schema.LimitUsage, h.clock.Now())
}

func TestAnOverflowIsCountedOnceAPass(t *testing.T) {
	h := turn(t)
	h.refuse("a9", 80_000)
	first := h.row().OverflowAt
	h.clock.Advance(time.Second)
	h.refuse("a9", 80_000)
	h.restart() // a host that missed the first report must also count the refusal only once
	h.refuse("a9", 80_000)
	if got := h.row().OverflowAt; got != first {
		t.Errorf("the late report moved it from %d to %d", first, got)
	}
	h.pass()
	h.clock.Advance(time.Second)
	h.refuse("a10", 70_000)
	if got := h.row(); got.OverflowAt != h.clock.Now() || got.OverflowPass != got.Passes {
		t.Errorf("the refusal of the next pass is not news: %+v", got)
	}
	h.wantWindow(70_000, schema.LimitOverflow, h.clock.Now())
}

// OpenCode's own compaction sends the raw conversation to the model and stores the answer as a summary. The size of
// this request is not the size of the session's prompt. If the host learned from it, a window of 48k would become
// 73.5k, and the next request would bust.
func TestACompactionByTheHarnessSaysNothingAboutTheSession(t *testing.T) {
	h := turn(t)
	h.answered("a9", 60_000)
	before := h.sessionStatus()
	h.clock.Advance(time.Second)
	const summary = `{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"sum","sessionID":"ses_1","role":"assistant",` +
		`"mode":"compaction","agent":"compaction","summary":true,"time":{"created":%d,"completed":%[1]d},"providerID":"anthropic","modelID":"m",%s}}}`
	h.event(summary, h.clock.Now(), `"finish":"stop","tokens":{"input":0,"output":1,"cache":{"read":0,"write":120000}}`)
	h.wantWindow(100_000, schema.LimitCatalogue, 0)
	h.event(summary, h.clock.Now(), `"finish":"error","error":{"name":"ContextOverflowError","data":{"message":"Session too large to compact - context exceeds model limit even after stripping media"}}`)
	if after := h.sessionStatus(); after.InputTokens != before.InputTokens || after.Tokens != before.Tokens {
		t.Errorf("%d tokens (%+v), want %d (%+v)", after.InputTokens, after.Tokens, before.InputTokens, before.Tokens)
	}
	if row := h.row(); row.OverflowAt != 0 {
		t.Error("the refusal of the compaction counts as one of the session's prompt")
	}
}

// An answer of the provider shows that the prompt fitted. The overflow is then over, and no space needs to be freed.
func TestAnAnswerEndsTheOverflow(t *testing.T) {
	h := turn(t)
	h.refuse("a9", 80_000)
	h.answered("a8", 50_000) // at the same instant, so the prompt may be older than the refusal
	if h.row().OverflowAt == 0 {
		t.Error("an answer from before ended it")
	}
	h.clock.Advance(time.Second)
	h.restart()
	h.answered("a10", 50_000)
	if got := h.row().OverflowAt; got != 0 {
		t.Errorf("the overflow outlived its cause: %d", got)
	}
	h.refuse("a9", 80_000) // this report comes late
	if got := h.row().OverflowAt; got != 0 {
		t.Errorf("a late report brought it back: %d", got)
	}
	h.wantWindow(80_000, schema.LimitOverflow, h.clock.Now()-1000)
}

// After a refusal, a summary alone may free enough space. The overflow must then be over. Otherwise the next pass would
// still assume the refused size, and bust once more.
func TestASummaryEndsTheOverflow(t *testing.T) {
	h := answering(t, func(p schema.AgentRunParams) (string, error) { return "", errors.New("busy") })
	h.talk(1, 10, 300, 9_000)
	h.talk(11, 2, 5, 10_000)
	h.user("u099", "go on")
	h.pass()
	h.publish(testKey, "u001", "a012", 24)
	h.restart()
	h.clock.Advance(time.Second)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long: 12500 tokens > 12000 maximum"}}}}`)
	h.pass()
	h.settle()
	rows := h.journal()
	if last := rows[len(rows)-1]; last.Cause != "overflow" || last.FoldReason == "" || last.EditsAdded > 0 {
		t.Fatalf("%s, fold %q, %d edits: the test needs a pass in which only the head makes room", last.Cause, last.FoldReason, last.EditsAdded)
	}
	if got := h.row().OverflowAt; got != 0 {
		t.Errorf("the overflow of %d outlived the summary", got)
	}
}

// A window of 8,192 tokens is real. If the host replaced it with 128,000, it would free no space until the provider
// refused a prompt.
func TestSmallWindowIsAccepted(t *testing.T) {
	h := newHarness(t)
	h.limits.ContextTokens = 8_192
	h.user("u1", "find it")
	h.pass()
	h.wantWindow(8_192, schema.LimitCatalogue, 0)
	h.tool("a1", strings.Repeat("one two three four ", 500), "stop", 5_000)
	h.user("u2", "thanks")
	h.pass()
	h.drop("call-1", "2")
	h.tool("a2", "two", "stop", 6_000)
	h.user("u3", "go on")
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "pressure" {
		t.Errorf("verdict %s (%s) at 6,000 of 8,192 tokens", m.Verdict, m.Cause)
	}
}

// The clock may have been ahead, so that an answer is dated tomorrow. The host must still notice today's refusals.
func TestAnAnswerOfTheFutureHidesNoOverflow(t *testing.T) {
	h := turn(t)
	h.clock.Advance(24 * time.Hour)
	h.tool("a3", "three", "stop", 60_000)
	h.clock.Advance(-24*time.Hour + time.Minute)
	h.user("u3", "go on")
	h.pass()
	h.drop("call-1", "2")
	h.refuse("a4", 80_000)
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "overflow" {
		t.Errorf("verdict %s (%s) after a refusal", m.Verdict, m.Cause)
	}
}

// A refusal may be dated tomorrow because the clock was ahead. Today's answers must still end the overflow.
func TestAnOverflowOfTheFutureEndsWithTheNextAnswer(t *testing.T) {
	for _, isHeard := range []bool{true, false} {
		h := turn(t)
		h.clock.Advance(24 * time.Hour)
		h.refuse("a3", 80_000)
		h.clock.Advance(-24*time.Hour + time.Minute)
		if isHeard {
			h.answered("a4", 50_000)
			if got := h.row().OverflowAt; got != 0 {
				t.Errorf("the overflow outlived its cause: %d", got)
			}
		}
		h.drop("call-1", "2")
		h.tool("a4", "four", "stop", 50_000)
		h.user("u3", "go on")
		if m := h.pass(); m.Cause == "overflow" {
			t.Errorf("verdict %s (%s) after an answer", m.Verdict, m.Cause)
		}
	}
}

func TestAnAnswerOfTheFutureProvesItsPrompt(t *testing.T) {
	h := turn(t)
	now := h.clock.Now()
	h.clock.Advance(time.Hour)
	h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"a9","sessionID":"ses_1","role":"assistant",`+
		`"time":{"created":%d,"completed":%[1]d},"providerID":"anthropic","modelID":"m","tokens":{"input":120000,"output":1,"cache":{"read":0,"write":0}}}}}`, now+48*3_600_000)
	h.wantWindow(120_000, schema.LimitUsage, h.clock.Now())
	h.refuse("a10", 110_000)
	h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"a9","sessionID":"ses_1","role":"assistant",`+
		`"time":{"created":%d,"completed":%[1]d},"providerID":"anthropic","modelID":"m","tokens":{"input":120000,"output":1,"cache":{"read":0,"write":0}}}}}`, now+48*3_600_000)
	if got := h.row().OverflowAt; got != h.clock.Now() {
		t.Errorf("an answer from before the refusal ended it: %d", got)
	}
}

// If the clock is set back, the newest answer seems to come from the future. The host must not bust the prefix for
// that. After a real pause, it must still notice that the session was idle.
func TestAnAnswerOfTheFutureHidesNoPause(t *testing.T) {
	h := turn(t)
	h.clock.Advance(24 * time.Hour)
	h.tool("a3", "three", "stop", 20_000)
	h.user("u3", "go on")
	h.pass()
	h.clock.Advance(-24*time.Hour + time.Minute)
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("verdict %s (%s) for a clock that was set back", m.Verdict, m.Cause)
	}
	h.clock.Advance(time.Hour)
	if m := h.pass(); m.Cause != "idle" {
		t.Errorf("verdict %s (%s) after an hour", m.Verdict, m.Cause)
	}
	h.clock.Advance(time.Second)
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("verdict %s (%s) a second later", m.Verdict, m.Cause)
	}
}

func TestOverflowOfASubagentConcernsOnlyItsModel(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "look")
	if _, err := h.send(schema.TransformParams{Session: testSession, Directory: "/p", Parent: "ses_0"}); err != nil {
		t.Fatal(err)
	}
	h.refuse("a1", 80_000)
	h.wantWindow(80_000, schema.LimitOverflow, h.clock.Now())
	if got := h.row(); got.OverflowAt != 0 {
		t.Errorf("a subagent is to make room: %+v", got)
	}
}

// P13: the provider reserves the space for the longest possible answer, and counts it as a part of the prompt. The
// learned window must leave that space free. Otherwise the prompt would grow to the refused size again.
func TestSpaceForTheAnswerIsLearned(t *testing.T) {
	h := turn(t)
	h.clock.Advance(time.Second)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":` +
		`"input length and ` + "`max_tokens`" + ` exceed context limit: 96469 + 4096 > 100000, decrease input length or ` + "`max_tokens`" + ` and try again"}}}}`)
	h.wantWindow(95_904, schema.LimitOverflow, h.clock.Now())
}

func TestRefusalWithoutALimitOnlyFreesSpace(t *testing.T) {
	h := turn(t)
	h.clock.Advance(time.Second)
	h.answered("a8", 120_000)
	h.wantWindow(120_000, schema.LimitUsage, h.clock.Now())
	h.clock.Advance(time.Second)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too much"}}}}`)
	if got := h.row().OverflowAt; got != h.clock.Now() {
		t.Errorf("overflow at %d", got)
	}
	if st := h.sessionStatus(); st.ContextTokens != 100_000 || st.LimitSource != schema.LimitCatalogue {
		t.Errorf("window %d by %s: what was accepted proves nothing any more", st.ContextTokens, st.LimitSource)
	}
}

func TestOtherErrorsAreNotOverflows(t *testing.T) {
	h := turn(t)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"rate limit exceeded","statusCode":429}}}}`)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1"}}`)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_unknown","error":`+tooLong+`}}`, 80_000)
	if got := h.row(); got.OverflowAt != 0 || got.OverflowPass != 0 {
		t.Errorf("overflow %+v", got)
	}
	if st := h.sessionStatus(); st.LimitSource != schema.LimitCatalogue {
		t.Errorf("window by %s", st.LimitSource)
	}
}

func TestPassesUseTheLearnedLimit(t *testing.T) {
	h := turn(t)
	h.refuse("a9", 80_000)
	h.drop("call-1", "2")
	h.tool("a10", "three", "stop", 60_000) // 60 % by the catalogue, 75 % of the real limit
	h.user("u3", "go on")
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "pressure" {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
}

// F23: the connection closes while a pass asks for the limits of a new model. Without an answer, the pass must not
// store the profile of an unknown provider, because later passes would use it. For example, they would remove the
// text of a step together with its dropped calls.
func TestPassOfAClientThatLeftDecidesNothing(t *testing.T) {
	h := turn(t)
	before := len(h.journal())
	h.add(`{"info":{"id":"u3","sessionID":"ses_1","role":"user","time":{"created":%d},"model":{"providerID":"google-vertex-anthropic","modelID":"m2"}},`+
		`"parts":[{"id":"p-u3","type":"text","text":"go on"}]}`, h.clock.Now())
	h.limits.NPM = "@ai-sdk/google-vertex/anthropic"
	h.limitsErr = fmt.Errorf("models/limits: %w", client.ErrClientLeft)
	if _, err := h.transform(); !errors.Is(err, client.ErrClientLeft) {
		t.Errorf("the pass ends with %v, want %v", err, client.ErrClientLeft)
	}
	if n := len(h.journal()); n != before {
		t.Errorf("%d passes are stored, want %d", n, before)
	}

	h.limitsErr = nil // the shim asks again, over a new connection
	if m := h.pass(); m.Verdict != schema.Hard || m.Cause != "model-changed" {
		t.Errorf("the next pass is %s (%s), want the hard pass of the new model", m.Verdict, m.Cause)
	}
	if got := h.row().Setup.Profile; got != "vertex" {
		t.Errorf("the wire is rendered for the profile %q, want that of the model's package", got)
	}
}

type narrow struct{ *harness }

func (narrow) ModelLimits(context.Context, schema.ModelLimitsParams) (schema.ModelLimits, error) {
	return schema.ModelLimits{ContextTokens: 24_000}, nil
}

// Two catalogues give different windows for one model, for example Pi's 24,000 and OpenCode's 100,000. A status must
// show the window that the session's own passes use. It used to show the window of the connection that had answered
// last.
func TestStatusHasTheWindowOfItsSession(t *testing.T) {
	h := turn(t)
	other := narrow{h}
	if _, err := h.host.Initialize(t.Context(), other, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}); err != nil {
		t.Fatal(err)
	}
	begun := []byte("[" + string(h.messages[0]) + "]")
	if _, err := h.host.Transform(t.Context(), other, schema.TransformParams{Session: "ses_2", Directory: "/p", Messages: begun}); err != nil {
		t.Fatal(err)
	}
	want := func(when string) {
		t.Helper()
		for _, st := range h.status().Sessions {
			window := 100_000
			if st.Session == "ses_2" {
				window = 24_000
			}
			if high := int(st.Threshold * float64(window)); st.ContextTokens != window || st.NextBust == nil || st.NextBust.At != high {
				t.Errorf("%s: session %s has the window %d and the next bust %+v, want %d and a bust at %d", when, st.Session, st.ContextTokens, st.NextBust, window, high)
			}
		}
	}
	want("after the pass of the other session")
	h.user("u3", "go on")
	h.pass()
	want("after the next pass")
	h.restart()
	want("after a restart")
}
