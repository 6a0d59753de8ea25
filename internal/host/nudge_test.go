package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

var big = strings.Repeat("one two three\n", 1_500)

func (h *harness) nudge() store.NudgeRow {
	h.t.Helper()
	n, err := h.store.Nudge(h.t.Context(), h.key(testSession))
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// `read` adds a call with this output, runs a pass, and returns the note that the pass has put at the end of the
// output.
func (h *harness) read(id, output string, promptTokens int) string {
	h.t.Helper()
	h.tool(id, output, "tool-calls", promptTokens)
	h.pass()
	return h.newestNote()
}

func (h *harness) newestNote() string {
	h.t.Helper()
	raw := h.messages[len(h.messages)-1]
	m := h.codec.Decode(raw)
	patched, err := render.Apply(raw, h.patches[m.Key])
	if err != nil {
		h.t.Fatal(err)
	}
	wire := h.codec.Decode(patched)
	part := func(m transcript.Message) string { return m.Parts[len(m.Parts)-1].Text }
	_, note, _ := strings.Cut(part(wire), part(m))
	return note
}

// reading returns a session with a window of 100,000 tokens and a threshold of 65,000. The session has four outputs of
// 6,000 tokens each. Three of them can be dropped.
func reading(t *testing.T, promptTokens int) *harness {
	h := newHarness(t)
	h.user("u1", "read all of it")
	h.pass()
	for i := range 4 {
		h.read(fmt.Sprint("a", i), big, promptTokens)
	}
	return h
}

// tones holds a typical phrase of each reminder, from the mildest to the most urgent.
var tones = []string{"it comes once", "you may mark it", "At the next natural stop", "leave little room"}

// The model gets one reminder of each tone, in order, even if the host restarts before each step.
func TestModelIsToldOnceATone(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "read all of it")
	h.pass()
	var told []string
	for i := range 10 {
		h.restart()
		note := h.read(fmt.Sprint("a", i), big, 55_000)
		if note == "" {
			continue
		}
		told = append(told, note)
		for _, want := range []string{"\n\n<system-reminder>\n", "ctx_reduce", "k tokens", "§2§ read · §3§ read", "\n</system-reminder>"} {
			if !strings.Contains(note, want) {
				t.Errorf("the text lacks %q:\n%s", want, note)
			}
		}
		if newest := fmt.Sprintf("§%d§", i+2); strings.Contains(note, newest) {
			t.Errorf("the text names %s, which is protected:\n%s", newest, note)
		}
	}
	if len(told) != len(tones) {
		t.Fatalf("%d texts, want %d:\n%s", len(told), len(tones), told)
	}
	for i, tone := range tones {
		if !strings.Contains(told[i], tone) {
			t.Errorf("text %d lacks %q:\n%s", i, tone, told[i])
		}
	}
}

// After ctx_reduce, the tones begin again with the mildest.
func TestDroppingBeginsAnew(t *testing.T) {
	h := reading(t, 55_000)
	if h.nudge().Level == "" {
		t.Fatal("no reminder")
	}
	h.drop("call-1", "2")
	h.add(`{"info":{"id":"r1","sessionID":"ses_1","role":"assistant","time":{"created":1,"completed":2},"providerID":"anthropic","modelID":"m","finish":"tool-calls",` +
		`"tokens":{"input":60000,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"p-r1","type":"tool","callID":"call-1","tool":"ctx_reduce",` +
		`"state":{"status":"completed","input":{"drop":"2"},"output":"Marked: 2."}}]}`)
	h.pass()
	if note := h.newestNote(); note != "" || h.nudge() != (store.NudgeRow{HasMessage: true}) {
		t.Errorf("note %q, stored %+v", note, h.nudge())
	}
	if note := h.read("b1", big, 62_000); !strings.Contains(note, "§3§ read") || strings.Contains(note, "§2§") {
		t.Errorf("want a text that leaves out what is marked:\n%s", note)
	}
}

// The host adds no note to a blank text, or to a text that already holds a reminder.
func TestNotesStandAtNewWordsAndOutputs(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(h *harness)
		want bool
	}{
		"a result":         {func(h *harness) { h.tool("b", "short", "tool-calls", 55_000) }, true},
		"a prompt":         {func(h *harness) { h.user("b", "go on") }, true},
		"a blank result":   {func(h *harness) { h.tool("b", " \n", "tool-calls", 55_000) }, false},
		"another reminder": {func(h *harness) { h.tool("b", "x <system-reminder>y</system-reminder>", "tool-calls", 55_000) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := reading(t, 30_000) // the next output or text gets a reminder
			c.add(h)
			h.pass()
			if note := h.newestNote(); (note != "") != c.want {
				t.Errorf("note %q", note)
			}
			if note := h.read("c", big, 55_000); note == "" && !c.want {
				t.Error("the model is never told")
			}
		})
	}
}

func TestModelWithoutToolIsToldNothing(t *testing.T) {
	h := newHarness(t)
	h.config.CtxReduceEnabled = false
	h.restart() // the restarted host reads the changed configuration
	h.user("u1", "read")
	h.pass()
	for i := range 6 {
		if note := h.read(fmt.Sprint("a", i), big, 60_000); note != "" {
			t.Errorf("it is told to use ctx_reduce:\n%s", note)
		}
	}
}

func TestNoteIsDroppedWithItsOutput(t *testing.T) {
	h := reading(t, 40_000)
	if note := h.newestNote(); !strings.Contains(note, tones[0]) {
		t.Fatalf("note %q", note)
	}
	h.user("u2", "next")
	h.pass()
	h.drop("call-1", "2-5")
	h.flush()
	h.pass()
	if got := h.wire(); strings.Contains(got, tones[0]) || !strings.Contains(got, "[dropped §5§]") {
		t.Errorf("wire:\n%.500s", got)
	}
}

func TestNoteOfABusyPassStays(t *testing.T) {
	h := reading(t, 30_000)
	unlock := h.lockDatabase()
	note := h.read("b", "short", 55_000)
	wire := h.wire()
	unlock()
	h.restart()
	h.read("c", "short", 55_000)
	if note == "" || !strings.HasPrefix(h.wire(), wire) {
		t.Errorf("note %q, wire:\n%.500s", note, h.wire())
	}
}

// In a window of 1M tokens, the spending setting decides when the first reminder comes. If it came only at a share of
// the window, a frugal user would get it far too late.
func TestReminderComesInALargeWindow(t *testing.T) {
	first := make(map[schema.Spending]int)
	for _, spending := range []schema.Spending{schema.SpendingFrugal, schema.SpendingBalanced, schema.SpendingGenerous} {
		h := newHarness(t)
		h.config.Spending = spending
		h.limits.ContextTokens = 1_000_000
		h.restart()
		h.user("u1", "read all of it")
		h.pass()
		for i := range 25 {
			if h.read(fmt.Sprint("a", i), big, 6000*(i+1)) != "" {
				first[spending] = i + 1
				break
			}
		}
	}
	if !(0 < first[schema.SpendingFrugal] && first[schema.SpendingFrugal] < first[schema.SpendingBalanced]) || first[schema.SpendingGenerous] != 0 {
		t.Errorf("the first reminder comes after so many outputs of 6,000 tokens: %v", first)
	}
}
