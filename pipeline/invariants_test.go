package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// history drives a world through a random life: user turns, steps with tools,
// text and signed reasoning, reminders that the harness adds in memory, drops,
// pressure, model switches, pauses, reverts, late edits and crashes of the host.
// After every pass it calls check.
func history(t *testing.T, check func(t *rapid.T, w *world)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rapid.Bool().Draw(rt, "prefixes"), rapid.IntRange(1, 6).Draw(rt, "protected"))
		w.readings.Subagent = rapid.Bool().Draw(rt, "subagent")
		h := &life{t: rt, w: w, model: "m1"}
		h.user()
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			h.step()
			w.pass()
			check(rt, w)
		}
	})
}

type life struct {
	t     *rapid.T
	w     *world
	n     int
	model string
}

func (h *life) id(prefix string) string { h.n++; return fmt.Sprintf("%s%d", prefix, h.n) }

func (h *life) step() {
	h.w.changed = false
	switch rapid.IntRange(0, 11).Draw(h.t, "what") {
	case 0, 1:
		h.user()
	case 2, 3, 4, 5:
		h.assistant()
	case 6:
		if n := h.w.session.State.TagCounter; n > 0 {
			h.w.queue(rapid.SliceOfN(rapid.IntRange(1, n), 1, 4).Draw(h.t, "drops")...)
		}
		h.assistant()
	case 7:
		h.w.usage(float64(rapid.SampledFrom([]int{10, 64, 65, 70, 84, 85, 99}).Draw(h.t, "percent")))
	case 8:
		h.w.now += rapid.SampledFrom([]int64{1000, 299_000, 400_000}).Draw(h.t, "pause")
		h.user()
	case 9:
		h.w.restart()
	case 10:
		switch rapid.IntRange(0, 2).Draw(h.t, "rare") {
		case 0:
			h.model = rapid.SampledFrom([]string{"m1", "m2"}).Draw(h.t, "model")
			h.user()
		case 1:
			h.revert()
		case 2:
			h.w.readings.Flush = true
		}
	case 11:
		h.w.resync()
	}
}

func (h *life) user() {
	parts := []obj{textPart(h.id("p"), rapid.SampledFrom([]string{"hello", "§7§ imitated", " ", "go on"}).Draw(h.t, "user text"))}
	if rapid.IntRange(0, 4).Draw(h.t, "file") == 0 {
		parts = append(parts, obj{"id": h.id("p"), "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"})
	}
	if rapid.IntRange(0, 4).Draw(h.t, "synthetic") == 0 {
		parts = append(parts, obj{"type": "text", "text": "file content", "synthetic": true})
	}
	h.w.add(message(h.id("u"), "user", h.w.now, obj{"model": obj{"providerID": "anthropic", "modelID": h.model}}, parts...))
}

func (h *life) assistant() {
	parts := []obj{{"id": h.id("p"), "type": "step-start"}}
	if rapid.Bool().Draw(h.t, "thinks") {
		parts = append(parts, reasoningPart(h.id("p"), h.id("why"), rapid.Bool().Draw(h.t, "signed")))
	}
	if rapid.Bool().Draw(h.t, "talks") {
		parts = append(parts, textPart(h.id("p"), "so "+h.id("x")))
	}
	tools := rapid.IntRange(0, 3).Draw(h.t, "tools")
	for range tools {
		input := obj{"a": "b"}
		if rapid.Bool().Draw(h.t, "long input") {
			input["body"] = strings.Repeat("y", 600)
		}
		p := toolPart(h.id("p"), h.id("call"), "read", input, "result "+h.id("r"))
		if rapid.IntRange(0, 5).Draw(h.t, "fails") == 0 {
			p["state"] = obj{"status": "error", "input": input, "error": "no such file"}
		}
		parts = append(parts, p)
	}
	info := obj{"modelID": h.model}
	if tools > 0 {
		info["finish"] = "tool-calls"
	}
	h.w.add(message(h.id("a"), "assistant", h.w.now, info, parts...))
}

// revert takes the newest messages back, down to the first user message.
func (h *life) revert() {
	n := rapid.IntRange(1, len(h.w.raw)).Draw(h.t, "revert to")
	h.w.raw = h.w.raw[:n]
	h.w.held = min(h.w.held, n)
	h.w.changed = true
	h.user()
}

func TestInvariant1SteadyIsAppendOnly(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		if w.decision.Verdict == schema.Steady && !w.changed && !w.extends() {
			t.Fatalf("a steady pass (%s) changed what had been sent", w.decision.Cause)
		}
		if w.result.Bust != !w.extends() && w.session.Meta.Passes > 1 {
			t.Fatalf("bust %v, but extends %v", w.result.Bust, w.extends())
		}
		if w.result.BustCause == BustUnexplained {
			t.Fatal("unexplained bust")
		}
	})
}

func TestInvariant2FirstApplicationOnlyOnABust(t *testing.T) {
	seen := map[*world]map[int]bool{}
	history(t, func(t *rapid.T, w *world) {
		known := seen[w]
		if known == nil {
			known = map[int]bool{}
			seen[w] = known
		}
		for _, u := range w.session.State.Units() {
			if !u.Active() && !known[u.Tag] {
				known[u.Tag] = true
				if w.decision.Verdict == schema.Steady {
					t.Fatalf("edit of §%d§ took effect on a steady pass", u.Tag)
				}
			}
		}
	})
}

func TestInvariant3HardPassDrainsEverything(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		if w.decision.Verdict == schema.Hard && len(w.session.State.Queue()) > 0 {
			t.Fatalf("left after a hard pass: %v", w.session.State.Queue())
		}
	})
}

func TestInvariant4QueuedDropCausesNoBust(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		asked := w.decision.Percent >= w.readings.Threshold
		switch w.decision.Cause {
		case CauseFirstPass, CauseModelChanged, CauseIdle, CauseFlush:
			asked = true
		}
		if len(w.decision.Edits) > 0 && !asked {
			t.Fatalf("edits without a reason to bust: %s (%s)", w.decision.Verdict, w.decision.Cause)
		}
	})
}

func TestInvariant5MidTurnStaysStill(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		exempt := w.readings.Subagent || w.decision.Percent >= ForcePercent || w.decision.Cause == CauseFlush
		if w.session.isMidTurn() && w.decision.Verdict == schema.Soft && !exempt {
			t.Fatalf("soft pass in the middle of a turn: %s", w.decision.Cause)
		}
	})
}

func TestInvariant7ToolArcsAreAtomic(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		open := map[string]int{}
		for _, m := range w.wire {
			for _, b := range m.Blocks {
				switch b.Kind {
				case render.CallBlock:
					open[b.ID]++
				case render.ResultBlock:
					open[b.ID]--
				}
			}
		}
		for id, n := range open {
			if n != 0 {
				t.Fatalf("call %s has %+d results too few", id, n)
			}
		}
	})
}

func TestInvariant8SignedContentIsUntouchable(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		for _, m := range w.wire {
			for _, b := range m.Blocks {
				if b.Kind == render.ReasoningBlock && b.Signature != nil &&
					string(b.Signature) != fmt.Sprintf(`{"anthropic":{"signature":"sig-%s"}}`, b.Text) {
					t.Fatalf("signed block %q carries %s", b.Text, b.Signature)
				}
			}
		}
	})
}

// The twin never restarts and loses nothing; after every pass both must agree.
func TestInvariant9RestartIsInvisible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		prefixes, protected := rapid.Bool().Draw(rt, "prefixes"), rapid.IntRange(1, 6).Draw(rt, "protected")
		w, twin := newWorld(t, prefixes, protected), newWorld(t, prefixes, protected)
		h := &life{t: rt, w: w, model: "m1"}
		h.user()
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			queued := len(w.store.queue)
			h.step()
			twin.raw, twin.held, twin.now = append(twin.raw[:0:0], w.raw...), min(twin.held, sameUntil(twin.raw, w.raw)), w.now
			twin.readings.Flush = w.readings.Flush
			for _, q := range w.store.queue[min(queued, len(w.store.queue)):] {
				twin.queue(q.Tag)
			}
			switch rapid.IntRange(0, 3).Draw(rt, "crash") {
			case 0:
				w.restart()
			case 1: // the pass runs, but neither its commit nor its answer gets out
				before := w.store
				w.store.units = append([]frozen.Unit(nil), before.units...)
				wire, previous := w.wire, w.previous
				flush := w.readings.Flush
				w.pass()
				w.store, w.wire, w.previous = before, wire, previous
				w.readings.Flush = flush
				w.restart()
			}
			w.pass()
			twin.pass()
			if w.text() != twin.text() {
				rt.Fatalf("after a crash:\n%s\nwithout one:\n%s", w.text(), twin.text())
			}
		}
	})
}

func sameUntil[E ~[]byte](a, b []E) int {
	i := 0
	for i < len(a) && i < len(b) && string(a[i]) == string(b[i]) {
		i++
	}
	return i
}

func TestInvariant10OnePlaceholder(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		for _, m := range w.wire {
			for _, b := range m.Blocks {
				if !strings.Contains(b.Text, "[dropped") {
					continue
				}
				var tag int
				if _, err := fmt.Sscanf(b.Text, "[dropped §%d§]", &tag); err != nil || b.Text != render.Placeholder(tag) {
					t.Fatalf("drop text %q", b.Text)
				}
				if u := w.session.State.ByTag(tag); u == nil || u.Active() {
					t.Fatalf("placeholder of §%d§, which was not dropped", tag)
				}
			}
		}
	})
}

func TestInvariant11UserTurnsStay(t *testing.T) {
	history(t, func(t *rapid.T, w *world) {
		onWire := map[string]bool{}
		for _, m := range w.wire {
			onWire[m.Key] = true
		}
		for _, raw := range w.raw {
			m := transcript.OpenCode{}.Decode(raw)
			if m.Role == transcript.User && !onWire[m.Key] {
				t.Fatalf("user message %s is gone", m.Key)
			}
		}
	})
}

// A steady pass opens what is new and nothing else.
func TestSteadyPassRendersOnlyTheNewTail(t *testing.T) {
	w := newWorld(t, true, 5)
	for i := range 500 {
		w.add(message(fmt.Sprintf("u%d", i), "user", w.now, nil, textPart(fmt.Sprintf("p%d", i), "text")))
	}
	w.pass()
	w.now += time.Second.Milliseconds()
	w.add(message("a1", "assistant", w.now, nil, textPart("pa", "answer")), message("ux", "user", w.now, nil, textPart("px", "next")))
	w.pass()
	if n := len(w.result.Rendered); n != 2 {
		t.Errorf("%d messages rendered, want 2", n)
	}
}
