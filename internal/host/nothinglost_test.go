package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// At any time, each message must be in the tail, or in a compartment that the head shows.
func TestInvariant14AcrossPublicationsRestartsRevertsAndForks(t *testing.T) {
	t.Parallel()
	heads, forks := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		h := answeringIn(t, rapid.SampledFrom(schema.Harnesses[:]).Draw(rt, "harness"), good)
		defer func() { h.settle(); h.store.Close() }()
		n, size := 19, 40_000
		h.talk(0, n+1, 950, size) // enough turns for a run of the historian
		h.user("begin", "go on")
		h.pass()
		h.settle()
		for range rapid.IntRange(2, 8).Draw(rt, "events") {
			switch rapid.IntRange(0, 6).Draw(rt, "event") {
			case 0, 1, 2:
				for range rapid.IntRange(2, 12).Draw(rt, "turns") {
					n++
					size = min(size+1500, 60_000)
					h.talk(n, 1, rapid.IntRange(100, 900).Draw(rt, "words"), size)
				}
				h.user(fmt.Sprintf("p%d", n), "go on")
			case 3:
				h.flush()
			case 4:
				h.settle()
				h.restart()
			case 5:
				to := rapid.IntRange(1, len(h.messages)).Draw(rt, "revert to")
				h.messages, h.told, h.revision, size = h.messages[:to], 0, 0, 30_000
				n += 1000 // the next messages get ids that were never used
				h.user(fmt.Sprintf("r%d", n), "otherwise")
			case 6:
				h.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 400}).Draw(rt, "pause")) * time.Second)
			}
			h.pass()
			h.settle() // without background work, a failure can be reproduced
			h.checkTail(rt)
			if h.cut > 0 {
				heads++
			}
		}
		h.settle()
		f := h.fork("ses_2", rapid.IntRange(1, len(h.messages)).Draw(rt, "fork at"))
		f.user("f1", "more")
		m := f.pass()
		if m.Start > 0 {
			forks++
			rows, _, err := h.store.History.Compartments(t.Context(), h.key("ses_2"))
			if err != nil || len(rows) == 0 || !endsAt(rows, m.Start, h.codec.Decode(f.messages[m.Start-1]).Key) {
				rt.Fatalf("the fork's head covers %d messages, its compartments are %+v, %v", m.Start, rows, err)
			}
		}
	})
	if !testing.Short() && (heads == 0 || forks == 0) { // few random histories may have no head or no fork
		t.Errorf("%d passes with a head, %d forks with one: the test needs both", heads, forks)
	}
}

// checkTail checks that no message is missing from the prompt. If the beginning of the array is cut off, the head must
// show compartments for all messages that are cut off, without a gap.
func (h *harness) checkTail(rt *rapid.T) {
	if h.cut == 0 {
		if len(h.head) > 0 {
			rt.Fatalf("a head without covered messages")
		}
		return
	}
	rows, _, err := h.store.History.Compartments(h.t.Context(), h.key(testSession))
	if err != nil {
		rt.Fatal(err)
	}
	last := h.codec.Decode(h.messages[h.cut-1]).Key
	if !endsAt(rows, h.cut, last) {
		rt.Fatalf("%d messages are cut off, the last one is %s: %+v", h.cut, last, rows)
	}
	wire := h.wire()
	next := 1
	for _, r := range rows {
		if r.Start != next {
			rt.Fatalf("messages %d to %d are in no compartment", next, r.Start-1)
		}
		if next = r.End + 1; r.End > h.cut {
			break
		}
		if isShown := strings.Contains(wire, fmt.Sprintf(`start="%d" end="%d"`, r.Start, r.End)); !isShown && !strings.Contains(wire, "<archived") {
			rt.Fatalf("the head does not show messages %d to %d:\n%.3000s", r.Start, r.End, wire)
		}
	}
	for _, raw := range h.messages[h.cut:] { // a rule can remove a step from the wire, but never a prompt
		m := h.codec.Decode(raw)
		if m.Role == transcript.User && !strings.Contains(wire, m.Key+": ") {
			rt.Fatalf("the tail lacks the prompt %s", m.Key)
		}
	}
}

func endsAt(rows []chronicle.Compartment, ordinal int, key string) bool {
	for _, r := range rows {
		if r.End == ordinal && chronicle.LastKey(r.Keys) == key {
			return true
		}
	}
	return false
}
