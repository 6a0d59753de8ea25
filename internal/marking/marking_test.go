package marking

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// The compartments are 1-4 and 5-7.
func TestMarkerOutcomes(t *testing.T) {
	two := []chronicle.Compartment{{Start: 1, End: 4, Keys: []string{"m1", "m2", "m3", "m4"}}, {Start: 5, End: 7, Keys: []string{"m5", "m6", "m7"}}}
	ask := func(ordinal int, end string) markers {
		text, _ := json.Marshal(pendingMarker{EndMessageID: end, Ordinal: ordinal, PublishedAt: 5})
		return readMarkers(string(text), "")
	}
	bust := markerMoment{isOn: true, isBust: true, head: frozen.Head{Ordinal: 7}, compartments: two}
	tests := []struct {
		name      string
		ordinal   int
		end       string
		pointless bool
	}{
		{"superseded", 6, "m7", true},
		{"the compartment is gone", 6, "m6", true},
		{"a later compartment is gone", 9, "m9", true},
		{"due", 7, "m7", false},
	}
	for _, c := range tests {
		m := ask(c.ordinal, c.end)
		got, ok := m.next(bust)
		if !ok || got.isPointless != c.pointless || got.done != m.pendingText || !c.pointless && got.to != (chronicle.Place{Ordinal: 7, Key: "m7"}) {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
	}
	current := ask(7, "m7")
	current.applied = appliedMarker{"m7", 7}
	if got, ok := current.next(bust); !ok || !got.isPointless {
		t.Errorf("already there: %+v, %v", got, ok)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, head: bust.head, compartments: two}); ok {
		t.Errorf("a steady pass: %+v", got)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, isBust: true, head: frozen.Head{Ordinal: 4}, compartments: two}); ok {
		t.Errorf("the head does not cover it: %+v", got)
	}
	for _, c := range []struct{ pinned, applied, place int }{
		{7, 0, 6}, {5, 0, 4}, {3, 0, 2}, {1, 0, 0}, {3, 1, 2}, {3, 2, 0}, {7, 6, 0},
	} {
		m, now := ask(7, "m7"), bust
		if c.applied > 0 {
			m.applied = appliedMarker{fmt.Sprintf("m%d", c.applied), c.applied}
		}
		now.head.Pinned = [frozen.MaxPinned]string{fmt.Sprintf("m%d", c.pinned), "m7"}
		got, ok := m.next(now)
		want := markerTask{}
		if c.place > 0 {
			want = markerTask{to: chronicle.Place{Ordinal: c.place, Key: fmt.Sprintf("m%d", c.place)}, done: m.pendingText}
		}
		if ok != (c.place > 0) || got != want {
			t.Errorf("message %d is pinned, the marker stands at %d: %+v, %v, want %+v", c.pinned, c.applied, got, ok, want)
		}
	}
	reverted := markers{applied: appliedMarker{"m9", 9}}
	now := bust
	now.head.Pinned[1] = "m5"
	if got, ok := reverted.next(now); !ok || got.to != (chronicle.Place{Ordinal: 4, Key: "m4"}) {
		t.Errorf("after a revert: %+v, %v", got, ok)
	}
	now.head.Pinned[1] = "m1"
	if got, ok := reverted.next(now); !ok || got != (markerTask{}) {
		t.Errorf("after a revert without a place: %+v, %v", got, ok)
	}
}

// If no compartment contains the key of a pinned prompt, nobody knows where the prompt is. Then firstPinned must return
// 1, so that no marker hides the prompt.
func TestFirstPinned(t *testing.T) {
	all := []chronicle.Compartment{{Start: 1, End: 2, Keys: []string{"m1", ""}}, {Start: 3, End: 4, Keys: []string{"m3", "m4"}}}
	for _, c := range []struct {
		pinned [frozen.MaxPinned]string
		want   int
	}{{[2]string{}, 0}, {[2]string{"", "m3"}, 3}, {[2]string{"m1", "m3"}, 1}, {[2]string{"m4", "m3"}, 3}, {[2]string{"m3", "other"}, 1}} {
		if got := firstPinned(frozen.Head{Pinned: c.pinned}, session.AnchorsOf(all)); got != c.want {
			t.Errorf("%q: %d, want %d", c.pinned, got, c.want)
		}
	}
}

// A marker hides all messages before it. So compartments and the head must cover these messages, and the head must not
// pin any of them. If the last compartment ends before the marker, the marker must be removed.
func TestMarkerNeverHidesUncoveredMessages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := markerMoment{isOn: rapid.Bool().Draw(rt, "on"), isBust: rapid.Bool().Draw(rt, "bust")}
		end := 0
		for range rapid.IntRange(0, 3).Draw(rt, "compartments") {
			c := chronicle.Compartment{Start: end + 1, End: end + rapid.IntRange(1, 3).Draw(rt, "length")}
			for n := c.Start; n <= c.End; n++ {
				c.Keys = append(c.Keys, fmt.Sprintf("m%d", n))
			}
			end = c.End
			now.compartments = append(now.compartments, c)
		}
		now.head.Ordinal = rapid.IntRange(0, end).Draw(rt, "covered")
		pinned := rapid.IntRange(0, now.head.Ordinal).Draw(rt, "first pinned prompt")
		if pinned > 0 {
			now.head.Pinned = [frozen.MaxPinned]string{fmt.Sprintf("m%d", pinned), fmt.Sprintf("m%d", rapid.IntRange(pinned, now.head.Ordinal).Draw(rt, "second one"))}
		}
		m := markers{}
		if n := rapid.IntRange(0, 9).Draw(rt, "applied"); n > 0 {
			m.applied = appliedMarker{fmt.Sprintf("m%d", n), n}
			now.found = rapid.SampledFrom([]string{"", m.applied.BoundaryMessageID, "other"}).Draw(rt, "found")
		}
		if n := rapid.IntRange(0, 9).Draw(rt, "pending"); n > 0 {
			m.pending, m.pendingText = pendingMarker{fmt.Sprintf("m%d", n), n, 1}, "pending"
		}
		t, ok := m.next(now)
		stays := !ok || t.isPointless
		switch {
		case stays && m.applied.isSet() && (!now.isOn || m.applied.Ordinal > end):
			rt.Fatalf("a marker at %d stays: %+v", m.applied.Ordinal, now)
		case !stays && t.to.Ordinal > end:
			rt.Fatalf("a marker at %d is set: %+v", t.to.Ordinal, now)
		case !stays && t.to.Ordinal > now.head.Ordinal && !(m.applied.Ordinal > t.to.Ordinal):
			rt.Fatalf("a marker at %d hides what the head does not cover: %+v", t.to.Ordinal, now)
		case !stays && pinned > 0 && t.to.Ordinal >= pinned:
			rt.Fatalf("a marker at %d hides a prompt that stays on the wire: %+v", t.to.Ordinal, now)
		case !stays && t.to.Key != "" && t.to.Key != fmt.Sprintf("m%d", t.to.Ordinal):
			rt.Fatalf("message %d is not %s", t.to.Ordinal, t.to.Key)
		}
	})
}
