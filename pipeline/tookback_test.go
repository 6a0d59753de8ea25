package pipeline

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// At the step limit, OpenCode 2 adds a message to a single request. The bug: the next request did not have this
// message, so the host believed that the user had reverted the prompt, and ignored the provider's refusal.
func TestMessageWithoutIDIsNotTakenBack(t *testing.T) {
	prompt := json.Value(`{"id":"msg_1","message":{"id":"msg_1","role":"user","content":[{"type":"text","text":"go on"}],"metadata":{}}}`)
	limit := json.Value(`{"id":"assistant-after-msg_1","message":{"role":"assistant","content":[{"type":"text","text":"Use no more tools."}]}}`)
	next := json.Value(`{"id":"msg_2","message":{"id":"msg_2","role":"user","content":[{"type":"text","text":"well?"}],"metadata":{}}}`)
	for name, c := range map[string]struct {
		keep int
		want bool
	}{
		"the limit's words are gone": {1, false},
		"the prompt is gone, too":    {0, true},
	} {
		s := NewSession(Config{Options: render.Options{Codec: transcript.OpenCode2{}}, CountText: func(text string) int { return len(text) }}, Meta{}, frozen.NewState(0, nil, nil, nil))
		s.Update(0, []json.Value{prompt, limit}, "")
		w := s.Render(s.Decide(Readings{LimitTokens: 1000, Threshold: 65}))
		s.Update(c.keep, []json.Value{next}, w.Token)
		if got := s.TookBack(); got != c.want {
			t.Errorf("%s: taken back %t, want %t", name, got, c.want)
		}
	}
}

// A rule may drop an older prompt. The bug: the user went back to this prompt, but the prompt was still dropped, and
// the model could not read its task. World.checkPrompt checks that the request contains the prompt.
func TestDroppedPromptComesBackWhenItIsTheNewestAgain(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		w := newWorldOf(t, codec, true, 1)
		w.readings.LimitTokens = 1000
		w.add(said("u0", "user", 600, 0))
		w.pass()
		w.answer(said("a0", "assistant", 100, 0))
		w.add(said("u1", "user", 600, 0))
		w.readings.Overflow = true
		w.pass()
		if u := w.session.State.ByTag(1); u.IsWhole() {
			t.Fatalf("the first prompt should have left the refused request: %+v", u)
		}
		w.readings.Overflow = false
		w.raw, w.held = w.raw[:1], 1
		w.pass()
		if w.decision.Verdict != schema.Hard || w.decision.Cause != CauseReverted || len(w.decision.Restored) != 1 {
			t.Errorf("%s pass (%s), restored %v", w.decision.Verdict, w.decision.Cause, w.decision.Restored)
		}
		w.pass()
		if w.decision.Verdict != schema.Steady || !w.extends() {
			t.Errorf("the next pass is %s (%s)", w.decision.Verdict, w.decision.Cause)
		}
	})
}

// A long prompt is pinned while the model answers it, and no longer pinned afterwards. If the user then reverts to a
// point within the turn of this prompt, it must be pinned again.
func TestCoveredPromptIsPinnedWhenItIsTheNewestAgain(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		w := newWorldOf(t, codec, true, 1)
		w.readings.History, w.readings.LimitTokens = &History{}, 10_000
		w.add(said("u0", "user", 3000, 0))
		for i := range 3 {
			w.add(message(fmt.Sprintf("s%d", i), "assistant", w.now, obj{"finish": "tool-calls"}, toolPart(fmt.Sprintf("p%d", i), fmt.Sprintf("c%d", i), "bash", obj{}, "done")))
		}
		w.publish(1, 50)
		w.readings.Flush = true
		w.pass()
		w.answer(said("a0", "assistant", 100, 0))
		w.add(said("u1", "user", 100, 0))
		w.pass()
		w.readings.Flush, w.readings.History.Refold = true, true
		w.pass()
		if !w.session.State.Covers(w.decode(w.raw[0]).Key) {
			t.Fatal("the first prompt should be behind the head")
		}
		w.readings.Flush, w.readings.History.Refold = false, false
		w.raw, w.held = w.raw[:4], 4
		w.pass()
		if w.decision.Verdict != schema.Hard || w.decision.Cause != CauseReverted {
			t.Errorf("%s pass (%s)", w.decision.Verdict, w.decision.Cause)
		}
		w.pass()
		if w.decision.Verdict != schema.Steady || !w.extends() {
			t.Errorf("the next pass is %s (%s)", w.decision.Verdict, w.decision.Cause)
		}
	})
}
