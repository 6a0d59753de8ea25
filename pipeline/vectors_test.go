package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
)

// The pass vectors of spec transform §29 that need no strip rule. The vectors
// write an empty text where the harness would send nothing; our wire leaves the
// part out, which is the same to the provider.

func TestVector15TagsAndPrefixesReplay(t *testing.T) {
	w := newWorld(t, true, 2)
	w.add(message("u1", "user", w.now, nil, obj{"type": "text", "text": "hello"}),
		message("a1", "assistant", w.now, nil, obj{"type": "step-start"}, obj{"type": "text", "text": "ok"},
			toolPart("", "c1", "read", obj{"f": "a"}, "AA")),
		message("u2", "user", w.now, nil, obj{"type": "text", "text": "§9§ next"}))
	w.usage(10)
	w.pass()
	want := `u1 user: text "§1§ hello"
a1 assistant: text "§2§ ok" call read {"f":"a"} -> "§3§ AA"
u2 user: text "§4§ next"
`
	if diff := cmp.Diff(want, w.text()); diff != "" {
		t.Fatalf("wire (-want +got):\n%s", diff)
	}
	w.pass()
	if w.result.Bust || !w.extends() {
		t.Error("a steady pass changed the wire")
	}
	w.restart()
	w.pass()
	if w.result.Bust || !w.extends() || w.text() != want {
		t.Error("a restart changed the wire")
	}
}

func TestVector16SkeletonDropAndProtectedOpWaits(t *testing.T) {
	w := newWorld(t, true, 2)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "find")),
		message("a1", "assistant", w.now, nil, toolPart("p2", "c1", "bash", obj{"command": "ls"}, "f1")),
		message("a2", "assistant", w.now, nil, textPart("p3", "found")),
		message("u2", "user", w.now, nil, textPart("p4", "fix")))
	w.usage(10)
	w.pass()
	w.queue(2, 3, 4)
	w.usage(70)
	w.pass()
	want := `u1 user: text "§1§ find"
a1 assistant: call bash {"command":"ls"} -> "[dropped §2§]"
a2 assistant: text "§3§ found"
u2 user: text "§4§ fix"
`
	if diff := cmp.Diff(want, w.text()); diff != "" {
		t.Fatalf("wire (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(w.decision.Edits); got != "[{2 skeleton}]" {
		t.Errorf("edits = %s", got)
	}
	if got := tagsOf(w.session.State.Queue()); got != "3,4" {
		t.Errorf("queue = %s, want 3,4", got)
	}
	w.restart()
	w.usage(10)
	w.pass()
	if w.result.Bust || !w.extends() {
		t.Error("the drop did not replay after a restart")
	}
}

// The first two steps of V17; its third is the two-pass reclaim, a rule of its own.
func TestVector17FullDropOutsideTheNewest20Tools(t *testing.T) {
	w := newWorld(t, true, 2)
	w.add(message("u0", "user", w.now, nil, textPart("p0", "go")))
	for i := 1; i <= 22; i++ {
		w.add(message(fmt.Sprintf("a%d", i), "assistant", w.now, nil,
			toolPart(fmt.Sprintf("q%d", i), fmt.Sprintf("k%d", i), "bash", obj{"n": i}, fmt.Sprintf("o%d", i))))
	}
	w.add(message("u1", "user", w.now, nil, textPart("p1", "end")))
	w.usage(10)
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	if got := fmt.Sprint(w.decision.Edits); got != "[{2 drop}]" {
		t.Fatalf("edits = %s", got)
	}
	if strings.Contains(w.text(), "a1 ") {
		t.Error("a message whose only arc was dropped is still on the wire")
	}
	w.pass()
	if w.result.Bust || !w.extends() {
		t.Error("the pass after the bust changed the wire")
	}
}

func TestVector24InputClamp(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u0", "user", w.now, nil, textPart("p0", "q")))
	// Key order is part of the vector, so the input is raw text.
	raw := fmt.Sprintf(`{"info":{"id":"a1","sessionID":"ses_1","role":"assistant","time":{"created":1},"finish":"stop"},"parts":[`+
		`{"id":"p1","type":"tool","callID":"c1","tool":"write","state":{"status":"completed","input":`+
		`{"path":"/a/b/c.txt","body":%q,"o":{"a":1},"l":[1,2],"n":5,"s":"short","e":"abcd😀z"},"output":"ok"}}]}`, strings.Repeat("x", 600))
	w.add([]byte(raw), message("a2", "assistant", w.now, nil, textPart("p3", "done")), message("u1", "user", w.now, nil, textPart("p2", "n")))
	w.usage(10)
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	want := `a1 assistant: call write {"path":"/a/b/...[truncated]","body":"xxxxx...[truncated]","o":"[object]","l":"[2 items]","n":5,"s":"short","e":"abcd...[truncated]"} -> "[dropped §2§]"`
	if !strings.Contains(w.text(), want) {
		t.Fatalf("wire:\n%s\nwant line:\n%s", w.text(), want)
	}
}

func TestVector25PrefixesOff(t *testing.T) {
	w := newWorld(t, false, 1)
	w.add(message("u0", "user", w.now, nil, textPart("p0", "q")),
		message("a1", "assistant", w.now, nil, textPart("p1", "x"), toolPart("p2", "c", "bash", obj{}, "o")),
		message("u1", "user", w.now, nil, textPart("p3", "n")))
	w.usage(10)
	w.pass()
	if strings.Contains(w.text(), "§") || len(w.patches) != 0 {
		t.Errorf("wire:\n%s", w.text())
	}
	if n := len(w.session.State.Units()); n != 4 {
		t.Errorf("%d units, want 4: they are tagged even when tags are not shown", n)
	}
}

// V26: the reference sends another wire on the pass after a bust (defect C3).
func TestVector26BustAndNextPassAgree(t *testing.T) {
	w := newWorld(t, true, 2)
	w.add(message("u0", "user", w.now, nil, textPart("p0", "q")),
		message("a1", "assistant", w.now, nil, reasoningPart("r1", "r1", true),
			toolPart("k0", "k0", "mcp_read", obj{"c": 1}, "o"), toolPart("k1", "k1", "bash", obj{"c": 1}, "o1")),
		message("a2", "assistant", w.now, nil, reasoningPart("r2", "r2", true), textPart("m", "mid")))
	for i := range 21 {
		w.add(message(fmt.Sprintf("b%d", i), "assistant", w.now, nil,
			toolPart(fmt.Sprintf("z%d", i), fmt.Sprintf("z%d", i), "bash", obj{"c": i}, fmt.Sprintf("p%d", i))))
	}
	w.add(message("u1", "user", w.now, nil, textPart("pn", "n")))
	w.usage(10)
	w.pass()
	w.queue(2, 3)
	w.usage(70)
	w.pass()
	if len(w.decision.Edits) != 2 {
		t.Fatalf("edits = %v", w.decision.Edits)
	}
	w.usage(10)
	w.pass()
	if w.result.Bust || !w.extends() {
		t.Error("the pass after the bust changed the wire")
	}
}

func TestDefectC1ReusedCallIDGetsItsOwnTag(t *testing.T) {
	for _, ids := range []bool{true, false} {
		w := newWorld(t, true, 1)
		first, second := toolPart("", "read:1", "read", obj{"f": 1}, "one"), toolPart("", "read:1", "read", obj{"f": 2}, "two")
		if ids {
			first["id"], second["id"] = "prt_1", "prt_2"
		}
		w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, first),
			message("a2", "assistant", w.now, nil, second), message("u2", "user", w.now, nil, textPart("p2", "q")))
		w.usage(10)
		w.pass()
		if !strings.Contains(w.text(), `"§2§ one"`) || !strings.Contains(w.text(), `"§3§ two"`) {
			t.Fatalf("with part ids %v:\n%s", ids, w.text())
		}
		w.queue(2)
		w.usage(70)
		w.pass()
		if !strings.Contains(w.text(), `"§3§ two"`) {
			t.Errorf("dropping one call dropped the other:\n%s", w.text())
		}
	}
}

func TestDefectC2MovedPartKeepsTextAndTag(t *testing.T) {
	for _, ids := range []bool{true, false} {
		w := newWorld(t, true, 1)
		one, two := obj{"type": "text", "text": "one"}, obj{"type": "text", "text": "two"}
		if ids {
			one["id"], two["id"] = "prt_1", "prt_2"
		}
		w.add(message("a1", "assistant", w.now, nil, one, two))
		w.pass()
		w.replace(0, message("a1", "assistant", w.now, nil, obj{"type": "step-start"}, one, two))
		w.pass()
		if want := "a1 assistant: text \"§1§ one\" text \"§2§ two\"\n"; w.text() != want {
			t.Errorf("with part ids %v: got %s", ids, w.text())
		}
	}
}

func TestDefectC8BlankTextGetsNoTag(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", " \n"), textPart("p2", "q"), textPart("p3", "")))
	w.pass()
	if want := "u1 user: text \" \\n\" text \"§1§ q\"\n"; w.text() != want {
		t.Errorf("got %s", w.text())
	}
}

// B12, C17: a call that has no result yet is not dropped, and the drop is not lost.
func TestRunningToolKeepsItsQueuedDrop(t *testing.T) {
	w := newWorld(t, true, 1)
	running := obj{"id": "p2", "type": "tool", "callID": "c1", "tool": "bash", "state": obj{"status": "running", "input": obj{}}}
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, running),
		message("u2", "user", w.now, nil, textPart("p3", "q")), message("u3", "user", w.now, nil, textPart("p4", "q")))
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	if len(w.decision.Edits) != 0 || tagsOf(w.session.State.Queue()) != "2" {
		t.Fatalf("edits %v, queue %s", w.decision.Edits, tagsOf(w.session.State.Queue()))
	}
}

// A turn that collects tool results keeps its bytes; the drop comes at its end.
func TestQueuedDropWaitsForTheEndOfTheTurn(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, obj{"finish": "tool-calls"}, toolPart("p2", "c1", "read", obj{}, "out")))
	w.pass()
	w.queue(2)
	w.add(message("a2", "assistant", w.now, obj{"finish": "tool-calls"}, toolPart("p3", "c2", "read", obj{}, "out2")))
	w.usage(70)
	w.pass()
	if w.decision.Verdict != schema.Steady || w.decision.Cause != CauseMidTurn {
		t.Fatalf("mid-turn: %s (%s)", w.decision.Verdict, w.decision.Cause)
	}
	w.add(message("a3", "assistant", w.now, nil, textPart("p4", "done")), message("u2", "user", w.now, nil, textPart("p5", "next")))
	w.usage(70)
	w.pass()
	if w.decision.Verdict != schema.Soft || !strings.Contains(w.text(), "[dropped §2§]") {
		t.Fatalf("boundary: %s (%s)\n%s", w.decision.Verdict, w.decision.Cause, w.text())
	}
	if !w.result.Bust || w.result.BustCause != string(CausePressure) {
		t.Errorf("bust %v, cause %q", w.result.Bust, w.result.BustCause)
	}
}

// A revert is the harness's doing, and is journalled as that.
func TestRevertIsAnExplainedBust(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "y")))
	w.pass()
	w.raw, w.held = w.raw[:1], 1
	w.add(message("u9", "user", w.now, nil, textPart("p9", "z")))
	w.pass()
	if !w.result.Bust || w.result.BustCause != BustTranscript {
		t.Errorf("bust %v, cause %q", w.result.Bust, w.result.BustCause)
	}
	if !strings.Contains(w.text(), "§4§ z") {
		t.Errorf("a tag was given twice:\n%s", w.text())
	}
}

func tagsOf(queue []frozen.QueuedDrop) string {
	var tags []string
	for _, q := range queue {
		tags = append(tags, fmt.Sprint(q.Tag))
	}
	return strings.Join(tags, ",")
}
