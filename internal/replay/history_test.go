package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func (w *world) publish(c *conversation, n int) {
	w.t.Helper()
	key := store.Key{Harness: "opencode", Session: c.id}
	if acquired, err := w.store.Leases.Acquire(w.t.Context(), store.HistorianOf(key), "test"); err != nil || !acquired {
		w.t.Fatal(acquired, err)
	}
	_, end, err := w.store.History.Compartments(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for ordinal := end.Ordinal; ordinal <= n; ordinal++ {
		keys = append(keys, keyOfMessage(w.t, c, ordinal))
	}
	err = w.store.History.Publish(w.t.Context(), store.Publication{Key: key, Holder: "test", After: end, Run: work.RunRow{Kind: "incremental"}, Compartments: []chronicle.Compartment{{
		Start: end.Ordinal, End: n, Keys: keys, Title: "Much reading", Tiers: [4]string{"We read files.", "Files.", "Files.", ""},
		Importance: 50, Fidelity: 0.8, MadeBy: "model", Model: "anthropic/small", RawTokens: 4000,
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Leases.Release(w.t.Context(), store.HistorianOf(key), "test"); err != nil {
		w.t.Fatal(err)
	}
}

func keyOfMessage(t *testing.T, c *conversation, ordinal int) string {
	t.Helper()
	_, codec, err := harnessOf([]byte(`{"harness":"opencode"}`))
	if err != nil {
		t.Fatal(err)
	}
	m := codec.Decode(c.messages[ordinal-1])
	return m.Key
}

// The bug: without magicctx, the session would have sent all messages. But the replay left out those that the head
// covers, so the session looked cheaper than it was. The test also checks that the prompt with magicctx shows the head
// as a separate section.
func TestReplayTellsFoldsAndSections(t *testing.T) {
	w := newWorld(t)
	early := w.connect(false)
	c := &conversation{id: "ses_long"}
	for range 5 {
		c.turn()
		early.pass(c)
	}
	w.publish(c, 4)
	traced := w.connect(true)
	for range 8 {
		c.turn()
		traced.pass(c)
	}
	trace := traced.stop()
	early.stop()
	replayed, report := wires(t, trace)
	if diff := cmp.Diff(gist(traced.answers), gist(replayed)); diff != "" {
		t.Fatalf("decisions (-recorded +replayed):\n%s", diff)
	}
	s := report.Summary()
	if len(s.Folds) != 1 || s.Folds[0].Reason != "first-head" || s.Folds[0].Head.Epoch != 1 || s.Folds[0].Head.Through != 4 || s.Folds[0].Head.Sections.Compartments == 0 {
		t.Fatalf("folds %+v", s.Folds)
	}
	if len(s.Publishes) != 0 {
		t.Errorf("what was published before the trace counts as of the trace: %+v", s.Publishes)
	}
	before := 0
	for _, p := range s.Detail {
		if got := p.Raw.Prompt(); got <= before {
			t.Errorf("pass %d: unmodified, the prompt shrinks from %d to %d", p.Pass, before, got)
		} else {
			before = got
		}
		if p.Sources.Total() != p.Tokens.Prompt() {
			t.Errorf("pass %d: its sections add up to %d of %d", p.Pass, p.Sources.Total(), p.Tokens.Prompt())
		}
		if hasHead := p.Pass >= s.Folds[0].Pass; hasHead != (p.Sources.Head > 0) || hasHead != (p.Head != nil) {
			t.Errorf("pass %d, folded in %d: its head has %d tokens, %+v", p.Pass, s.Folds[0].Pass, p.Sources.Head, p.Head)
		}
		want := schema.CompartmentScore{Start: 1, End: 4, Fidelity: 0.8}
		if p.History == nil || p.History.Weakest == nil || *p.History.Weakest != want {
			t.Errorf("pass %d: the history is %+v", p.Pass, p.History)
		}
	}
}
