package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// A fork contains copies of messages, with new ids. Its first request must begin like the last request of the original
// session: dropped units stay dropped, and the provider reads the prefix from its cache.
func TestForkBeginsWithTheRequestOfItsOriginal(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session, and TestBoundThinking has a fork")
	testForkBeginsWithTheRequestOfItsOriginal(t, schema.HarnessOpenCode)
}

func testForkBeginsWithTheRequestOfItsOriginal(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.configure(`{"protected_tags": 1}`)
	oc := w.launch(w.withFlatPrices())
	original := w.session(oc)
	full := mockllm.Say("41.")
	full.Usage = &promptcache.Tokens{Fresh: 100, Read: opencodetest.DefaultLimits.Context * 7 / 10}
	w.play(original,
		w.readNotes("toolu_1"), mockllm.Call("toolu_2", "ctx_reduce", map[string]any{"drop": "2"}), full, mockllm.Say("Yes."))
	w.prompt(oc, original, "Read the notes.")
	w.prompt(oc, original, "Sure?")
	before := w.last(original)
	w.wantInBody(before, "[dropped §2§]", true)

	copied, err := oc.Copy(w.ctx, original)
	if err != nil {
		t.Fatal(err)
	}
	w.play(copied, mockllm.Say("Still 41."), mockllm.Say("It is."))
	w.prompt(oc, copied, "And now?")
	first := w.last(copied)
	if where, ok := extends(before, first); !ok {
		t.Errorf("the fork begins otherwise than its original: %s", where)
	}
	if left := before.Simulated.Read + before.Simulated.Write; first.Simulated.Read != left {
		t.Errorf("the fork reads %d tokens from the cache, its original left %d", first.Simulated.Read, left)
	}
	w.prompt(oc, copied, "Really?")
	w.stop(oc)
	w.stopHost()
	passes := w.journal(copied)
	checkBusts(t, w.requests(copied), passes)
	for _, p := range passes {
		if p.Verdict != string(schema.Steady) {
			t.Errorf("pass %d of the fork is %s (%s)", p.Pass, p.Verdict, p.Cause)
		}
	}
}
