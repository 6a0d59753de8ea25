package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
)

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
