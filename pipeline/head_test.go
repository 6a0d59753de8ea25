package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func invariant6BaselineChangesOnlyOnAHardPass(t *rapid.T, w *world) {
	now := ""
	if w.session.State.Head.Exists() {
		now = w.wire[0].Blocks[0].Text
	}
	was := w.witness.baseline
	w.witness.baseline = now
	switch {
	case w.busy:
	case was != now:
		met.folds++
		if w.decision.Verdict != schema.Hard {
			t.Fatalf("the baseline changed on a %s pass (%s)", w.decision.Verdict, w.decision.Cause)
		}
	case w.decision.Head != nil:
		met.deltas++
	}
}

func invariant14EachMessageIsInTheTailOrTheHead(t *rapid.T, w *world) {
	if w.start == 0 {
		return
	}
	met.covered++
	head := w.session.State.Head
	last := w.codec.Decode(w.raw[w.start-1])
	if last.Key != head.Through || head.Ordinal != w.start {
		t.Fatalf("the tail begins after %s, number %d; the head covers everything through %s, number %d", last.Key, w.start, head.Through, head.Ordinal)
	}
	if w.busy {
		return // while the store is busy, the host cannot withdraw reverted compartments
	}
	next := 1
	for _, c := range w.readings.History.Compartments[:head.Shows()] {
		if c.Start != next {
			t.Fatalf("messages %d to %d are in no compartment", next, c.Start-1)
		}
		next = c.End + 1
		rangeOf := fmt.Sprintf(`start="%d" end="%d"`, c.Start, c.End)
		if !strings.Contains(head.Baseline+head.Delta, rangeOf) && !namesArchived(head.Baseline, c) {
			t.Fatalf("messages %d to %d are covered, and the head does not name them:\n%s\n%s", c.Start, c.End, head.Baseline, head.Delta)
		}
	}
	if next != w.start+1 {
		t.Fatalf("messages %d to %d are in neither place", next, w.start)
	}
}

func namesArchived(baseline string, c chronicle.Compartment) bool {
	_, list, _ := strings.Cut(baseline, `<archived ranges="`)
	list, _, _ = strings.Cut(list, `"`)
	for part := range strings.SplitSeq(list, ",") {
		var from, to int
		if n, _ := fmt.Sscanf(strings.TrimSpace(part), "%d-%d", &from, &to); n == 2 && from <= c.Start && c.End <= to {
			return true
		}
	}
	return false
}

func talked(t testing.TB, codec transcript.Codec, n, covered int) *world {
	w := newWorldOf(t, codec, true, 2)
	w.readings.History = &History{}
	for i := range n {
		w.add(said(fmt.Sprintf("u%d", i), "user", 100, 0))
		w.answer(said(fmt.Sprintf("a%d", i), "assistant", 100, 0))
	}
	w.add(said("now", "user", 10, 0))
	w.publish(covered-1, 50)
	w.pass()
	return w
}

func TestHeadStandsInFrontOfTheTail(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		w := talked(t, codec, 5, 4)
		keys := make([]string, len(w.wire))
		for i := range w.wire {
			keys[i] = w.wire[i].Key
		}
		want := []string{transcript.BaselineKey, transcript.AcknowledgementKey, transcript.DeltaKey, "u2", "a2", "u3", "a3", "u4", "a4", "now"}
		if !slices.Equal(keys, want) {
			t.Errorf("the wire is %v, want %v", keys, want)
		}
		if text := w.wire[0].Blocks[0].Text; !strings.Contains(text, "All about 1 to 4.") {
			t.Errorf("the baseline lacks the compartment:\n%s", text)
		}
		if w.decision.Fold != FoldFirst || w.decision.Verdict != schema.Hard {
			t.Errorf("%s pass, fold %q", w.decision.Verdict, w.decision.Fold)
		}
	})
}

func TestHeadStandsAlone(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		w := newWorldOf(t, codec, true, 2)
		w.readings.History = &History{Docs: []history.Doc{{Name: "ARCHITECTURE.md", Text: "It has rooms."}}}
		w.add(said("u0", "user", 100, 0))
		w.pass()
		if w.session.State.Head.Exists() {
			t.Fatal("documents make a head, although they are no reason for one")
		}
		w.readings.History.StandsAlone = true
		w.answer(said("a0", "assistant", 100, 0))
		w.add(said("u1", "user", 100, 0))
		w.readings.Flush = true // a bust that keeps the beginning of the prompt
		w.pass()
		if w.session.State.Head.Exists() {
			t.Fatalf("the head costs a live prefix (%s)", w.decision.Cause)
		}

		lose := func() { // the provider has forgotten the prefix
			w.now += 600_000
			w.pass()
		}
		lose()
		head := w.session.State.Head
		if w.decision.Fold != FoldFirst || !strings.Contains(head.Baseline, "It has rooms.") || head.Ordinal != 0 || head.Through != "" || w.start != 0 {
			t.Fatalf("fold %q, the tail starts at %d, head %+v", w.decision.Fold, w.start, head)
		}
		steady := func(why string) {
			t.Helper()
			w.answer(said("a"+why, "assistant", 10, 0))
			w.add(said("u"+why, "user", 10, 0))
			w.pass()
			if w.decision.Verdict != schema.Steady || !w.extends() || w.session.State.Head != head || w.start != 0 {
				t.Fatalf("%s: %s pass (%s), the tail starts at %d, head %+v", why, w.decision.Verdict, w.decision.Cause, w.start, w.session.State.Head)
			}
		}
		steady("later")
		w.readings.History.Docs[0].Text = "It has more rooms."
		steady("with other documents")
		w.restart()
		steady("after a restart")
		w.raw, w.held, w.changed = w.raw[:4], 4, true
		w.add(said("again", "user", 10, 0))
		w.pass()
		if w.session.State.Head != head || w.decision.Verdict != schema.Steady {
			t.Fatalf("a revert has changed a head that covers nothing: %s pass (%s)", w.decision.Verdict, w.decision.Cause)
		}
		lose()
		if head = w.session.State.Head; w.decision.Fold != FoldReason(CauseIdle) || !strings.Contains(head.Baseline, "more rooms") {
			t.Fatalf("fold %q, head %+v", w.decision.Fold, head)
		}

		w.publish(3, 50)
		w.readings.Flush = true
		w.pass()
		head = w.session.State.Head
		if w.decision.Fold != FoldFirst || head.InBaseline != 1 || w.start != 4 || !strings.Contains(head.Baseline, "All about 1 to 4.") {
			t.Fatalf("fold %q, the tail starts at %d, head %+v", w.decision.Fold, w.start, head)
		}
		w.raw, w.held, w.changed = w.raw[:2], 2, true
		w.add(said("anew", "user", 10, 0))
		w.pass()
		head = w.session.State.Head
		if w.decision.Fold != FoldReverted || head.Shows() != 0 || head.Ordinal != 0 || w.start != 0 || !strings.Contains(w.text(), "more rooms") {
			t.Fatalf("fold %q, the tail starts at %d:\n%s", w.decision.Fold, w.start, w.text())
		}

		w.readings.History.StandsAlone = false
		steady("without a reason")
		lose()
		if w.session.State.Head.Exists() || strings.Contains(w.text(), "rooms") {
			t.Errorf("the head stays:\n%s", w.text())
		}
	})
}

// A new summary waits until the prefix is lost or a bust is due. A bust that shows the summary makes only a new delta,
// so the provider still reads the baseline from its cache.
func TestPublishedHistoryWaitsForABust(t *testing.T) {
	w := talked(t, transcript.OpenCode{}, 8, 4)
	w.publish(7, 50)
	w.add(said("more", "assistant", 10, 0), said("go", "user", 10, 0))
	w.pass()
	if w.decision.Verdict != schema.Steady || !w.extends() {
		t.Fatalf("%s pass (%s)", w.decision.Verdict, w.decision.Cause)
	}
	w.readings.Flush = true
	w.pass()
	head := w.session.State.Head
	if w.decision.Verdict != schema.Soft || head.InBaseline != 1 || head.InDelta != 1 || w.start != 8 {
		t.Fatalf("%s pass (%s): %d compartments in the baseline, %d in the delta, the tail starts at %d",
			w.decision.Verdict, w.decision.Cause, head.InBaseline, head.InDelta, w.start)
	}
	if w.result.PrefixTokens != head.BaselineTokens {
		t.Errorf("%d tokens of the wire stay, want the baseline's %d", w.result.PrefixTokens, head.BaselineTokens)
	}
}

// A revert withdraws only the compartments whose last message it removes.
func TestRevertTakesTheCompartmentsItReaches(t *testing.T) {
	w := talked(t, transcript.OpenCode{}, 8, 4)
	w.publish(9, 50)
	w.readings.Flush = true
	w.pass()
	w.raw, w.held, w.changed = w.raw[:7], 7, true
	w.add(said("again", "user", 10, 0))
	w.pass()
	if w.decision.Cause != CauseReverted || w.decision.Fold != FoldReverted || w.start != 4 {
		t.Fatalf("%s (fold %q), the tail starts at %d:\n%s", w.decision.Cause, w.decision.Fold, w.start, w.text())
	}
	if n := len(w.readings.History.Compartments); n != 1 {
		t.Errorf("%d compartments are left, want the first", n)
	}
	w.raw, w.held = w.raw[:2], 2
	w.add(said("anew", "user", 10, 0))
	w.pass()
	if w.session.State.Head.Exists() || w.start != 0 || w.wire[0].Key != "u0" {
		t.Errorf("a head is left that covers what is gone:\n%s", w.text())
	}
}

// The harness compacts the session. Its own summary replaces the messages that the head covers, and some later ones.
// The host must keep the head, so the wire must contain the head's summary and the harness's summary.
func TestArrayThatBeginsAfterTheHeadKeepsIt(t *testing.T) {
	for _, codec := range []transcript.Codec{transcript.OpenCode{}, transcript.OpenCode2{}, transcript.Pi{}} {
		w := talked(t, codec, 6, 4)
		head := w.session.State.Head
		w.compact(6)
		w.pass()
		if now := w.session.State.Head; w.decision.Verdict != schema.Steady || now != head || w.start != 0 {
			t.Errorf("%s pass (%s), the tail starts at %d, head %+v", w.decision.Verdict, w.decision.Cause, w.start, now)
		}
		if !strings.Contains(w.text(), "All about 1 to 4.") || !strings.Contains(w.text(), "The harness's own summary.") {
			t.Errorf("a summary is missing:\n%s", w.text())
		}
	}
}

// Fixed bug: in Pi, the user looked at another branch that has a summary. The array of this branch contained some
// messages that the head covers, but not the last one. The head should have been removed, but the host kept it, and
// sent the covered messages as "[dropped]".
func TestSummaryOfAnotherBranchRevertsTheHead(t *testing.T) {
	w := talked(t, transcript.Pi{}, 6, 4)
	w.compact(2)
	w.raw = w.raw[:2]
	w.add(said("branch", "user", 10, 0))
	w.pass()
	if w.session.State.Head.Exists() {
		t.Errorf("the head stays: %+v", w.session.State.Head)
	}
	for i := range w.wire {
		if w.wire[i].Key == "u1" && !strings.Contains(w.wire[i].Blocks[0].Text, "dropped") {
			return
		}
	}
	t.Errorf("u1 is not in the request:\n%s", w.text())
}

// Fixed bug: Pi kept some turns at a compaction. On another branch, later messages got the ordinals of these turns.
// When a compartment of that branch came back, the kept turns were neither in the head nor in the tail, so the model
// did not see them.
func TestCompartmentOfAnotherBranchLeavesNoGap(t *testing.T) {
	for _, v := range []struct {
		keys []string
		want int
	}{{[]string{"u2", "a2"}, 2}, {[]string{"u3", "a3"}, 1}} {
		w := talked(t, transcript.Pi{}, 6, 4)
		w.compact(4)
		w.readings.History.Withdrawn = []chronicle.Compartment{{Seq: 1, Start: 5, End: 6, Keys: v.keys, Title: "part 1", Tiers: [4]string{"All.", "Less.", "Little."}}}
		w.pass()
		if n := len(w.session.standing(w.readings.History)); n != v.want {
			t.Errorf("%v: %d compartments stand, want %d", v.keys, n, v.want)
		}
	}
}

// Fixed bug: the head covered each unit up to the highest covered tag. When the harness stored the text of an aborted
// answer late, the old message got a high tag. So the head covered units of the tail, too, and their messages were not
// sent.
func TestLateTextOfACoveredMessageCoversNoOther(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.History = &History{}
	w.add(message("u1", "user", w.now, nil, textPart("p1", "first")),
		message("a1", "assistant", w.now, nil, textPart("p2", "early")),
		message("u2", "user", w.now, nil, textPart("p3", "second")),
		message("a2", "assistant", w.now, obj{"finish": "stop"}, textPart("p4", "fine")),
		message("u3", "user", w.now, nil, textPart("p5", "third")))
	w.pass()
	w.raw[1] = mjson.Value(strings.Replace(string(w.raw[1]), `"parts":[`, `"parts":[{"id":"late","type":"text","text":"stored late"},`, 1))
	w.held, w.changed = 1, true
	w.pass()
	w.publish(1, 50)
	w.readings.Flush = true
	w.pass()
	w.restart()
	w.pass()
	for _, text := range []string{"second", "fine", "third"} {
		if !strings.Contains(w.text(), text) {
			t.Errorf("the request lacks %q:\n%s", text, w.text())
		}
	}
	if w.start != 2 || strings.Contains(w.text(), "stored late") {
		t.Errorf("the head covers %d messages:\n%s", w.start, w.text())
	}
}

// Fixed bug: while the database was locked, a request still carried the summary of reverted messages.
func TestRevertedHeadIsHiddenThoughNothingCanBeStored(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.History = &History{}
	for i := range 4 {
		w.add(message(fmt.Sprint("u", i), "user", w.now, nil, textPart(fmt.Sprint("p", i), fmt.Sprint("prompt ", i))),
			message(fmt.Sprint("a", i), "assistant", w.now, obj{"finish": "stop"}, textPart(fmt.Sprint("q", i), "answer")))
	}
	w.pass()
	w.publish(5, 50)
	w.readings.Flush = true
	w.pass()
	if w.start != 6 {
		t.Fatalf("the head covers %d messages", w.start)
	}
	w.raw, w.held, w.busy = w.raw[:3], 3, true
	w.add(message("u9", "user", w.now, nil, textPart("p9", "rather this")))
	w.pass()
	if text := w.text(); strings.Contains(text, "All about 1 to 6.") || !strings.Contains(text, "prompt 0") || !strings.Contains(text, "rather this") {
		t.Errorf("while the database is busy:\n%s", text)
	}
}

// A compaction by the harness may keep the newest turns. The array then contains the new summary first, and the older
// turns after it. The host must number these messages by their times, as the harness's store does.
func TestKeptTurnsAreNumberedByTheirTime(t *testing.T) {
	w := newWorld(t, true, 1)
	at := func(id, role string, created int64, text string) mjson.Value {
		return message(id, role, created, obj{"finish": "stop"}, textPart("p"+id, text))
	}
	w.add(mjson.Value(`{"info":{"id":"c","role":"user","time":{"created":50}},"parts":[{"id":"p","type":"compaction","auto":false}]}`),
		mjson.Value(`{"info":{"id":"s","role":"assistant","parentID":"c","summary":true,"finish":"stop","time":{"created":51,"completed":51}},"parts":[{"id":"q","type":"text","text":"All so far."}]}`),
		at("u5", "user", 40, "kept"), at("a5", "assistant", 41, "kept, too"), at("u6", "user", 60, "new"))
	w.pass()
	u, ok := w.session.Uncovered(8, []chronicle.Place{{Ordinal: 9, Key: "u5"}})
	if !ok {
		t.Fatal("u5 has a known ordinal")
	}
	got := map[string]int{}
	for _, m := range u.Messages.Between(9, 99) {
		got[m.Key] = m.Ordinal
	}
	if want := map[string]int{"u5": 9, "a5": 10, "c": 11, "u6": 12}; !maps.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
}

// In the array, the request for a compaction comes before the turns that the compaction keeps, although these turns are
// older. If the head covers the request, it must cover the turns, too.
func TestHeadThatEndsWithACompactionCoversTheTurnsItKept(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.History = &History{}
	at := func(id, role string, created int64) mjson.Value {
		return message(id, role, created, obj{"finish": "stop"}, textPart("p"+id, "text of "+id))
	}
	w.add(mjson.Value(`{"info":{"id":"c","role":"user","time":{"created":50}},"parts":[{"id":"p","type":"compaction","auto":false}]}`),
		mjson.Value(`{"info":{"id":"s","role":"assistant","parentID":"c","summary":true,"finish":"stop","time":{"created":51,"completed":51}},"parts":[{"id":"q","type":"text","text":"All so far."}]}`),
		at("u5", "user", 40), at("a5", "assistant", 41), at("u6", "user", 60), at("a6", "assistant", 61), at("u7", "user", 70), at("a7", "assistant", 71), at("u8", "user", 80))
	w.pass()
	w.readings.History.Compartments = []chronicle.Compartment{{Start: 1, End: 3, Keys: []string{"u5", "a5", "c"}, AfterSummary: "s", Title: "part 0", Importance: 50, Tiers: [4]string{"All.", "Less.", "Little."}}}
	w.readings.Flush = true
	w.pass()
	if text := w.text(); w.start != 4 || strings.Contains(text, "dropped") || strings.Contains(text, "text of a5") || !strings.Contains(text, "text of u6") {
		t.Errorf("the head covers %d messages:\n%s", w.start, text)
	}
}

func TestFoldCountsBeforeTheRules(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.History, w.readings.LowMark = &History{}, 40
	for i := range 20 {
		w.add(said(fmt.Sprintf("u%d", i), "user", 10, 0), said(fmt.Sprintf("a%d", i), "assistant", 4000, 0))
	}
	w.add(said("now", "user", 10, 0))
	w.pass()
	w.usage(80)
	w.publish(29, 50)
	w.pass()
	if w.decision.Fold != FoldFirst || len(w.decision.Edits) > 0 {
		t.Errorf("fold %q, edits %v, %s", w.decision.Fold, w.decision.Edits, w.decision.Cause)
	}
	if w.decision.Price.Removed < 50_000 {
		t.Errorf("the fold frees %d tokens", w.decision.Price.Removed)
	}
	size, _ := w.session.size(Counting{})
	if size.Current > 35_000 {
		t.Errorf("the next prompt is believed to have %d tokens", size.Current)
	}
}

// A bust under pressure sends everything after the head again anyway, so it frees space down to the low mark.
func TestFoldUnderPressureReachesTheLowMark(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.History, w.readings.LowMark = &History{}, 40
	for i := range 20 {
		w.add(said(fmt.Sprintf("u%d", i), "user", 10, 0))
		w.add(message(fmt.Sprintf("a%d", i), "assistant", w.now, nil, textPart(fmt.Sprintf("t%d", i), "read"),
			toolPart(fmt.Sprintf("p%d", i), fmt.Sprintf("c%d", i), "read", obj{"filePath": fmt.Sprint("/", i)}, strings.Repeat("abc ", 4000))))
	}
	w.add(said("now", "user", 10, 0))
	w.pass()
	w.usage(80)
	w.session.Meta.ReclaimUpTo = w.session.State.TagCounter // an earlier pass could have dropped the outputs
	w.publish(17, 50)                                       // 9 of 20 turns, 36,000 of 80,000 tokens
	w.pass()
	if w.decision.Fold != FoldFirst || len(w.decision.Edits) == 0 {
		t.Fatalf("fold %q, %d edits, %s", w.decision.Fold, len(w.decision.Edits), w.decision.Cause)
	}
	if size, _ := w.session.size(w.readings.Counting); size.Current > 40_000 || size.Current < 35_000 {
		t.Errorf("the next prompt is believed to have %d tokens, want about the low mark of 40,000", size.Current)
	}
}

func TestOverlayShowsAProposedHead(t *testing.T) {
	w := hundreds(t, 3)
	u := w.session.State.Units()[0]
	tag := u.Tag
	o := w.session.State.With(frozen.Additions{Head: &frozen.Head{Baseline: "b"}, Covered: frozen.Keys{u.MessageKey: true}})
	if o.ByTag(tag).Active() || o.ByTag(tag).Left() != 0 || !w.session.State.ByTag(tag).Active() {
		t.Error("the overlay does not show the head's cover, or the state does")
	}
}
