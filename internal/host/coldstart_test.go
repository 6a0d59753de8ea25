package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// The function `long` returns a session of n messages. Its head covers all but the newest hundred messages, and its
// compartments have the average sizes that docs/history.md names.
func long(t testing.TB, n, compartments int) *harness {
	h := newHarness(t)
	h.limits.ContextTokens = 10_000_000
	for i := range n {
		h.messages = append(h.messages, benchMessage(i, h.clock.Now()))
	}
	h.pass()
	if compartments == 0 {
		return h
	}
	if ok, err := h.store.Leases.Acquire(t.Context(), store.HistorianOf(testKey), "test"); err != nil || !ok {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	_, end, err := h.store.History.Compartments(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	p := store.Publication{Key: testKey, Holder: "test", After: end, Run: work.RunRow{Kind: "incremental"}}
	size := (n - 100) / compartments
	for c := range compartments {
		from, to := c*size, (c+1)*size-1
		var keys []string
		for i := from; i <= to; i++ {
			keys = append(keys, fmt.Sprint("msg_", i))
		}
		p.Compartments = append(p.Compartments, chronicle.Compartment{
			Start: from + 1, End: to + 1, Keys: keys, Title: fmt.Sprint("Part ", c),
			Tiers:      [4]string{prose(c, 322), prose(c, 109), prose(c, 35), prose(c, 20)},
			Importance: 30 + c%50, MadeBy: "model", Fidelity: 0.9, RawTokens: size * 1000,
		})
	}
	if err := h.store.History.Publish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Leases.Release(t.Context(), store.HistorianOf(testKey), "test"); err != nil {
		t.Fatal(err)
	}
	h.reopen()
	h.flush()
	h.pass()
	if h.cut != compartments*size || len(h.head) == 0 {
		t.Fatalf("the head stands for %d messages, want %d", h.cut, compartments*size)
	}
	return h
}

// reopen restarts the host. The next pass then sends the whole array, as a shim does, because the new host knows no
// message.
func (h *harness) reopen() {
	h.restart()
	h.revision, h.told = 0, 0
}

func prose(seed, n int) string {
	var b strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&b, "item%d ", (seed*31+i*7)%997)
	}
	return b.String()
}

func TestColdStartOfALongSessionKeepsItsWire(t *testing.T) {
	t.Parallel()
	h := long(t, 1500, 150)
	before, head := h.wire(), slices.Clone(h.head)
	if len(head) != 3 || !strings.Contains(string(head[0]), "<compartment ") {
		t.Fatalf("a head of %d messages", len(head))
	}
	h.reopen()
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("a cold start is a %s pass (%s)", m.Verdict, m.Cause)
	}
	if after := h.wire(); after != before {
		t.Error("the wire is another one after a cold start")
	}
}

// BenchmarkColdStart measures a new host's first pass, without history, and with a head of 150 compartments.
func BenchmarkColdStart(b *testing.B) {
	for _, compartments := range []int{0, 150} {
		b.Run(fmt.Sprintf("5000 messages, %d compartments", compartments), func(b *testing.B) {
			h := long(b, 5000, compartments)
			array, err := json.Marshal(h.messages)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				h.reopen()
				p := schema.TransformParams{Session: testSession, Directory: "/p", Messages: array}
				b.StartTimer()
				if _, err := h.host.Transform(b.Context(), h, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
