package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func binding(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.config.PreservedThinking = map[string]string{"default": "on"}
	h.restart()
	h.user("u1", "go")
	h.pass()
	return h
}

func (h *harness) think(id, output string, promptTokens int) {
	now := h.clock.Now()
	h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"m","finish":"tool-calls",`+
		`"tokens":{"input":%d,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"r-%s","type":"reasoning","text":"why %s","metadata":{"anthropic":{"signature":"sig-%s"}}},`+
		`{"id":"p-%s","type":"tool","callID":"c-%s","tool":"read","state":{"status":"completed","input":{"f":%q},"output":%q}}]}`,
		id, now, now, promptTokens, id, id, id, id, id, id, output)
}

func (h *harness) thinks() []string {
	var keys []string
	for _, raw := range h.messages {
		m := transcript.OpenCode{}.Decode(raw)
		patched, err := render.Apply(raw, h.patches[m.Key])
		if err != nil {
			h.t.Fatal(err)
		}
		m = transcript.OpenCode{}.Decode(patched)
		if slices.ContainsFunc(m.Parts, func(p transcript.Part) bool { return p.Signature != nil }) {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

func (h *harness) wantThinking(when string, want ...string) {
	h.t.Helper()
	if got := h.thinks(); !slices.Equal(got, want) {
		h.t.Errorf("%s: the thinking of %v is sent, want that of %v", when, got, want)
	}
}

// Defect D10 (docs/defects.md): a bust changes the prompt before later thinking, so the provider would refuse this
// thinking. The pass that busts must also remove it, for good. Thinking before the first changed byte stays.
func TestDefectD10BustRemovesTheThinkingAfterItsFirstChange(t *testing.T) {
	h := binding(t)
	for i := range 5 {
		h.think(fmt.Sprintf("a%d", i), fmt.Sprintf("output %d", i), 1000)
		h.pass()
	}
	h.wantThinking("between busts", "a0", "a1", "a2", "a3", "a4")
	h.drop("d1", "4") // a2's call
	h.flush()
	h.pass()
	h.wantThinking("after the bust", "a0", "a1", "a2")
	row := h.snapshot().Session
	last := h.journal()[len(h.journal())-1]
	if row.LostBlocks != 2 || last.LostBlocks != 2 || last.Price.Thinking == 0 {
		t.Errorf("journal: %d blocks lost, session %d, price %+v; want 2", last.LostBlocks, row.LostBlocks, last.Price)
	}
	for _, restart := range []bool{false, true} {
		if restart {
			h.restart()
		}
		h.pass()
		h.wantThinking("later", "a0", "a1", "a2")
	}
	h.think("a5", "output 5", 1000)
	h.pass()
	h.wantThinking("the next answer", "a0", "a1", "a2", "a5")
	h.restart()
	h.pass()
	h.wantThinking("restarted", "a0", "a1", "a2", "a5")
}

// The provider's count of a prompt includes thinking, but the host's count does not. So the status names thinking
// separately.
func TestStatusNamesTheThinkingOfThePrompt(t *testing.T) {
	h := binding(t)
	h.think("a1", "out", 5000)
	h.pass()
	h.answered("a2", 6000)
	st, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: "opencode", Session: testSession})
	if err != nil || st.Tokens.Thinking <= 0 {
		t.Fatalf("%+v (%v)", st.Tokens, err)
	}
	if sum := st.Tokens.System + st.Tokens.ToolDefinitions + st.Tokens.Head + st.Tokens.Text + st.Tokens.Files + st.Tokens.ToolInputs + st.Tokens.ToolResults + st.Tokens.Thinking; sum != int64(st.InputTokens) {
		t.Errorf("the parts add up to %d of %d tokens", sum, st.InputTokens)
	}
}

// D10: while no host runs, the harness sends unmodified requests. The thinking in their answers is not bound to the
// host's wire, so the next pass must remove it.
func TestDefectD10ThinkingOfARequestWithoutTheHostIsRemoved(t *testing.T) {
	h := binding(t)
	h.think("a1", "one", 1000)
	h.pass()
	h.think("a2", "two", 1000)
	h.lastWire = "" // the shim says that the request left without the host's wire
	h.think("a3", "three", 1000)
	h.pass()
	h.wantThinking("after a request without the host", "a1")
	h.think("a4", "four", 1000)
	h.pass()
	h.wantThinking("after that", "a1", "a4")
}

// D10: thinking is also bound to the system prompt. If the harness changes the system prompt in the middle of a turn,
// the host must keep sending the old one until the next turn. It then sends the new one, and removes all thinking.
func TestDefectD10SystemPromptIsFrozenWhileThinkingIsBoundToIt(t *testing.T) {
	const opening = "You are an agent.\n"
	h := binding(t)
	first := h.ask(opening + "Today's date: 1")
	h.think("a1", "one", 1000)
	h.pass()
	for _, changed := range []string{opening + "Today's date: 2", opening + "Today's date: 1\nBe brief."} {
		if got := h.ask(changed); got != first {
			t.Errorf("in the middle of a turn: %q", got)
		}
		h.restart()
		h.pass()
	}
	h.wantThinking("while it waits", "a1")
	h.tool("a2", "done", "stop", 1000)
	h.user("u2", "next")
	if m := h.pass(); m.Verdict != schema.Hard || m.Cause != "preamble-changed" {
		t.Fatalf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	h.wantThinking("with the new turn")
	if got := h.ask(opening + "Today's date: 1\nBe brief."); !strings.Contains(got, "Be brief.") {
		t.Errorf("with the new turn: %q", got)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("and again: %s (%s)", m.Verdict, m.Cause)
	}
	titles, err := h.host.System(t.Context(), h, schema.SystemParams{Session: testSession, Directory: "/p", System: []string{"You make titles."}})
	if err != nil || titles.System != nil {
		t.Errorf("another agent's prompt became %q, %v", titles.System, err)
	}
}

func TestDefectD10DateIsRenewedAfterTheNight(t *testing.T) {
	h := binding(t)
	h.ask("A\nToday's date: 1")
	h.think("a1", "one", 1000)
	h.clock.Advance(10 * time.Minute)
	h.pass()
	if got := h.ask("A\nToday's date: 2"); !strings.Contains(got, "date: 1") {
		t.Errorf("on the same day: %q", got)
	}
	h.wantThinking("on the same day", "a1")
	h.clock.Advance(25 * time.Hour)
	h.user("u2", "good morning")
	h.pass()
	h.wantThinking("on the next day")
	if got := h.ask("A\nToday's date: 2"); !strings.Contains(got, "date: 2") {
		t.Errorf("on the next day: %q", got)
	}
}

// D10: the new model cannot read the thinking of the old one.
func TestDefectD10ModelSwitchRemovesAllThinking(t *testing.T) {
	h := binding(t)
	h.think("a1", "one", 1000)
	h.tool("a2", "done", "stop", 1000)
	h.pass()
	h.wantThinking("before", "a1")
	h.add(`{"info":{"id":"u2","sessionID":"ses_1","role":"user","time":{"created":%d},"model":{"providerID":"anthropic","modelID":"m2"}},"parts":[{"id":"p-u2","type":"text","text":"other"}]}`, h.clock.Now())
	h.pass()
	h.wantThinking("after the switch")
}

// D10: after a restart of the harness, its new shim does not know the last wire. But the old shim reported the
// complete answer to the host, so the answer's thinking must stay.
func TestDefectD10RestartOfTheHarnessLosesNoThinking(t *testing.T) {
	for _, told := range []string{"by the event", "by the event to a new host", "by the text", ""} {
		h := binding(t)
		h.think("a1", "one", 1000)
		h.pass()
		h.think("a2", "two", 1000)
		if told == "by the event to a new host" { // the new host gets an update of the unfinished answer first
			h.restart()
		}
		if told == "by the text" {
			params := schema.TextCompleteParams{Session: testSession, Text: "so", Message: "a2", Sent: h.lastWire}
			if r, err := h.host.TextComplete(t.Context(), h, params); err != nil || r.Text != "so" {
				t.Fatalf("%q, %v", r.Text, err)
			}
		}
		if strings.HasPrefix(told, "by the event") {
			h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":%s}}`, infoOf(t, h.messages[len(h.messages)-1]))
		}
		h.lastWire = ""
		h.restart()
		h.pass()
		if told != "" {
			h.wantThinking("told "+told, "a1", "a2")
		} else {
			h.wantThinking("not told", "a1")
		}
	}
}

// F15: an aborted answer has no usage, and some providers never report a usage. The answer's event must still bind
// the answer's thinking. Otherwise, a fork or a restart of the harness would lose the thinking.
func TestThinkingOfAnAnswerWithoutUsageIsBoundByItsEvent(t *testing.T) {
	for _, ending := range []string{`"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}},"finish":"unknown"`, `"finish":"tool-calls"`} {
		h := binding(t)
		h.think("a1", "one", 1000)
		h.pass()
		h.think("a2", "two", 0)
		newest := &h.messages[len(h.messages)-1]
		*newest = json.Value(strings.Replace(string(*newest), `"finish":"tool-calls"`, ending, 1))
		h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":%s}}`, infoOf(t, *newest))
		f := h.fork("ses_2", len(h.messages))
		f.user("f1", "try otherwise")
		f.pass()
		if got := strings.Join(wireOf(t, f.messages, f.patches), ""); !strings.Contains(got, "sig-a2") {
			t.Errorf("ended by %s: the fork does not send the newest thinking", ending)
		}
		h.lastWire = ""
		h.restart()
		h.pass()
		h.wantThinking("restarted, ended by "+ending, "a1", "a2")
	}
}

func infoOf(t *testing.T, message json.Value) json.Value {
	t.Helper()
	var m struct {
		Info json.Value `json:"info"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatal(err)
	}
	return m.Info
}

// Thinking in the middle of an answer is bound to the text before it, as the model wrote that text. So text/complete
// must not remove an imitated tag from that text.
func TestImitatedTagStaysBeforeBoundThinking(t *testing.T) {
	h := binding(t)
	now := h.clock.Now()
	stored := h.completed("§1§ so I look")
	h.add(`{"info":{"id":"a1","sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"m","finish":"tool-calls",`+
		`"tokens":{"input":1000,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"r1","type":"reasoning","text":"why","metadata":{"anthropic":{"signature":"sig-1"}}},`+
		`{"id":"p1","type":"text","text":%q},{"id":"r2","type":"reasoning","text":"and then","metadata":{"anthropic":{"signature":"sig-2"}}},`+
		`{"id":"p2","type":"text","text":%q}]}`, now, now, stored, h.completed("§1§ done"))
	h.user("u2", "more")
	for _, when := range []string{"at first sight", "restarted"} {
		h.pass()
		got := strings.Join(wireOf(t, h.messages, h.patches), "")
		for _, want := range []string{`"§1§ so I look"`, `"§3§ done"`, "sig-1", "sig-2"} { // tag 2 belongs to the first text, which shows no tag
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in the wire:\n%s", when, want, got)
			}
		}
		h.restart()
	}
}
