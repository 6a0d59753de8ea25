package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

const markerText = "summarised, but the host does not run"

// markedAt returns the array that OpenCode delivers with the host's marker at message i.
func markedAt(w *world, i int) []mjson.Value {
	w.t.Helper()
	boundary := w.codec.Decode(w.raw[i]).Key
	var prompt struct {
		Info  json.RawMessage   `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(w.raw[i], &prompt); err != nil {
		w.t.Fatal(err)
	}
	prompt.Parts = append(prompt.Parts, json.RawMessage(`{"id":"marker-part","type":"compaction","auto":true}`))
	first, err := json.Marshal(prompt)
	if err != nil {
		w.t.Fatal(err)
	}
	summary := message("marker-"+boundary, "assistant", w.now, obj{
		"providerID": MarkerProvider, "modelID": MarkerProvider, "summary": true, "finish": "stop", "parentID": boundary, "agent": "compaction",
	}, textPart("marker-text", markerText))
	return slices.Concat([]mjson.Value{first, summary}, w.raw[i+1:])
}

// The function `marked` returns a session with compartments, all of them in the baseline. Each element of `ends` is the
// ordinal of the last message of one compartment.
func marked(t testing.TB, turns int, ends ...int) *world {
	w := newWorldOf(t, transcript.OpenCode{}, true, 1)
	w.readings.History = &History{}
	for i := range turns {
		w.add(said(fmt.Sprintf("u%d", i), "user", 20, 0), said(fmt.Sprintf("a%d", i), "assistant", 30, 0))
	}
	w.add(said("now", "user", 5, 0))
	w.pass()
	for _, end := range ends {
		w.publish(end-1, 50)
	}
	w.readings.Flush = true
	w.pass()
	return w
}

func ordinals(t interface{ Fatalf(string, ...any) }, w *world) string {
	all := w.readings.History.Compartments
	var known []chronicle.Place
	for _, c := range all {
		known = append(known, history.AnchorsOf(c.Start, c.Keys)...)
	}
	u, ok := w.session.Uncovered(w.covered(), known)
	if !ok {
		t.Fatalf("the history after message %d is not found", w.covered())
	}
	text := ""
	for n := 1; n <= u.Messages.Total(); n++ {
		if m := u.Decode(n); m != nil {
			text += fmt.Sprintf("%d=%s ", n, m.Key)
		}
	}
	return text
}

// A marker hides only messages that the head replaces, so the wire does not depend on the place of the marker.
func TestMarkerChangesNoWire(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		turns := rapid.IntRange(3, 10).Draw(rt, "turns")
		end := rapid.IntRange(1, 2*turns-1).Draw(rt, "covered messages") // the last one may be a prompt
		w := marked(t, turns, end)
		wire, numbered := w.text(), ordinals(rt, w)
		whole, last := w.raw, (end-1)/2
		for n := range last { // the host hides no prompt that the head pins
			if w.session.State.Head.Pins(fmt.Sprintf("u%d", n)) {
				last = n
				break
			}
		}
		boundary := 2 * rapid.IntRange(0, last).Draw(rt, "marker")
		w.raw, w.held = markedAt(w, boundary), 0
		if rapid.Bool().Draw(rt, "restarts") {
			w.restart()
		}
		w.pass()
		if w.decision.Verdict != schema.Steady || w.text() != wire || w.result.Bust {
			rt.Fatalf("%s pass (%s):\n%s\nbefore:\n%s", w.decision.Verdict, w.decision.Cause, w.text(), wire)
		}
		if got := ordinals(rt, w); got != numbered {
			rt.Fatalf("ordinals %s\nbefore   %s", got, numbered)
		}
		if got, want := w.session.Marker(), w.codec.Decode(w.raw[0]).Key; got != want {
			rt.Fatalf("the array begins with %q, not %q", got, want)
		}
		h := w.readings.History
		h.Compartments = append(slices.Clone(h.Compartments), chronicle.Compartment{
			Seq: 1, Start: end + 1, End: end + 2, Keys: []string{w.codec.Decode(whole[end]).Key, w.codec.Decode(whole[end+1]).Key},
			Title: "the next turn", Importance: 50, Tiers: [4]string{"More.", "Less.", "Little."},
		})
		w.readings.Flush = true
		w.pass()
		own := 0
		for i, m := range whole {
			key := w.codec.Decode(m).Key
			if i < end+2 && !w.session.State.Head.Pins(key) {
				continue
			}
			for _, u := range w.session.State.Units() {
				if u.MessageKey == key {
					own += u.Left()
				}
			}
		}
		if w.session.own != own || w.start != len(w.raw)-(len(whole)-end-2) {
			rt.Fatalf("%d tokens are left, want %d; the tail begins at %d of %d", w.session.own, own, w.start, len(w.raw))
		}
		folded := w.text()
		w.raw, w.held = whole, 0
		w.pass()
		if w.decision.Verdict != schema.Steady || w.text() != folded {
			rt.Fatalf("%s pass (%s) after the marker went", w.decision.Verdict, w.decision.Cause)
		}
	})
}

// After a marker, the messages of the earlier compartments are missing from the array because OpenCode does not read
// them, not because the user has reverted them. So a later revert must not withdraw these compartments.
func TestRevertAfterAMarkerKeepsHiddenHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := marked(t, 9, 4, 8, 14)
		all := w.readings.History.Compartments
		boundary := 2 * rapid.IntRange(0, 6).Draw(rt, "marker")
		cut := rapid.IntRange(boundary+1, len(w.raw)-1).Draw(rt, "the revert keeps")
		array := markedAt(w, boundary)
		w.raw, w.held, w.changed = array[:cut-boundary+1], 0, true
		w.add(said("anew", "user", 5, 0))
		w.pass()
		standing := 0
		for _, c := range all {
			if c.End <= cut {
				standing++
			}
		}
		if got := len(w.readings.History.Compartments); got != standing {
			rt.Fatalf("marker at %d, revert to %d messages: %d compartments stand, want %d", boundary+1, cut, got, standing)
		}
		if head := w.session.State.Head; head.Shows() != standing || head.Exists() != (standing > 0) {
			rt.Fatalf("the head shows %d compartments, want %d", head.Shows(), standing)
		}
		if got := w.text(); strings.Contains(got, markerText) || strings.Contains(got, "compaction") {
			rt.Fatalf("the rows of the marker reach the model:\n%s", got)
		}
		if _, text := w.session.Summary(); text != "" {
			rt.Fatalf("the marker's text counts as the harness's summary: %q", text)
		}
		w.pass()
		if w.decision.Verdict != schema.Steady {
			rt.Fatalf("again a %s pass (%s)", w.decision.Verdict, w.decision.Cause)
		}
	})
}
