package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// The bug classes of spec transform §27 that no vector or story covers, each by
// its number there.

// A10: an idle session busted on every pass of its next turn, because the time
// of the last response did not move.
func TestBugA10IdleBustsOncePerTurn(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")))
	w.pass()
	w.now += 600_000
	w.add(message("u2", "user", w.now, nil, textPart("p3", "back")))
	w.pass()
	if w.decision.Cause != CauseIdle {
		t.Fatalf("cause %q", w.decision.Cause)
	}
	for i := range 3 {
		w.now += 1000
		w.add(message(fmt.Sprintf("b%d", i), "assistant", w.now, obj{"finish": "tool-calls"}, toolPart(fmt.Sprintf("t%d", i), fmt.Sprintf("c%d", i), "read", obj{}, "out")))
		w.pass()
		if w.decision.Verdict != schema.Steady {
			t.Fatalf("pass %d of the turn: %s (%s)", i+2, w.decision.Verdict, w.decision.Cause)
		}
	}
}

// A31: a skeleton became a full drop once it had left the newest 20 tools.
func TestBugA31SkeletonStaysASkeleton(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, toolPart("p2", "c1", "read", obj{}, "out")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	for i := range 25 {
		w.add(message(fmt.Sprintf("b%d", i), "assistant", w.now, nil, toolPart(fmt.Sprintf("t%d", i), fmt.Sprintf("d%d", i), "read", obj{}, "out")))
	}
	w.add(message("u3", "user", w.now, nil, textPart("p9", "q")))
	w.queue(2, 3)
	w.usage(10)
	w.readings.Flush = true
	w.pass()
	if !strings.Contains(w.text(), `a1 assistant: call read {} -> "[dropped §2§]"`) {
		t.Errorf("wire:\n%s", w.text())
	}
}

// C10: flush ignored protection.
func TestBugC10FlushKeepsProtection(t *testing.T) {
	w := newWorld(t, true, 2)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(1, 2, 3)
	w.readings.Flush = true
	w.pass()
	if got := fmt.Sprint(w.decision.Edits); got != "[{1 drop}]" || tagsOf(w.session.State.Queue()) != "2,3" {
		t.Errorf("edits %s, queue %s", got, tagsOf(w.session.State.Queue()))
	}
}

// C11: the first pass after a restart took pressure for zero.
func TestBugC11PressureSurvivesARestart(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(1)
	w.usage(90)
	w.restart()
	w.pass()
	if w.decision.Cause != CauseForce || len(w.decision.Edits) != 1 {
		t.Errorf("%s (%s), edits %v", w.decision.Verdict, w.decision.Cause, w.decision.Edits)
	}
}

// C12: a drop anywhere made unrelated empty messages disappear.
func TestBugC12DropTouchesOnlyItsMessage(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a0", "assistant", w.now, nil, obj{"id": "s", "type": "step-start"}, textPart("pb", " ")),
		message("a1", "assistant", w.now, nil, toolPart("p2", "c1", "read", obj{}, "out")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	if len(w.patches["a0"]) != 0 || !strings.Contains(w.text(), "a0 assistant: text \" \"\n") {
		t.Errorf("patch of a0: %v\n%s", w.patches["a0"], w.text())
	}
}

// C18: a bust for idleness that came mid-turn was put off and then lost. The
// prefix is gone then, so there is nothing to wait for.
func TestBugC18IdleInTheMiddleOfATurnIsNotLost(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, obj{"finish": "tool-calls"}, toolPart("p2", "c1", "bash", obj{}, "slept for ten minutes")))
	w.pass()
	w.queue(1)
	w.now += 600_000
	w.pass()
	if w.decision.Verdict != schema.Hard || len(w.session.State.Queue()) != 0 {
		t.Errorf("%s (%s), queue %s", w.decision.Verdict, w.decision.Cause, tagsOf(w.session.State.Queue()))
	}
}

// A pass that may bust and finds nothing to do changes nothing (the reference
// called each such pass a bust).
func TestBustWithNothingToDoIsSteady(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.usage(99)
	w.pass()
	if w.decision.Verdict != schema.Steady || w.decision.Cause != CauseNothingToDo || w.result.Bust {
		t.Errorf("%s (%s), bust %v", w.decision.Verdict, w.decision.Cause, w.result.Bust)
	}
}
