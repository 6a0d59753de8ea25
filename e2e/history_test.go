package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// With a historian, a session goes through several times its window: no prompt is blocked, fails or is above the
// window, and each message is in the request or in a summary.
func TestLongHistory(t *testing.T) { testLongHistory(t, schema.HarnessOpenCode) }

func testLongHistory(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	k := w.talk(w.launch(w.withHistorian()), "long", tellsInParts)
	for range 20 {
		k.turn(20)
		k.settle()
	}
	k.flush()
	k.turn(1)
	w.stop(k.agent)
	w.stopHost()
	k.read()
	k.checkHistory()

	if n := k.messages(); n < 400 {
		t.Errorf("the session has %d messages", n)
	}
	if n := len(k.publishes()); n < 6 {
		t.Errorf("%d publishes", n)
	}
	for _, row := range k.rows {
		if row.MadeBy != string(historian.ByModel) {
			t.Errorf("the messages %d to %d were summarised in the way %s", row.Start, row.End, row.MadeBy)
		}
	}
	requests := k.requests(k.session)
	if last, want := headOf(requests[len(requests)-1]).through, k.rows[len(k.rows)-1].End; last != want {
		t.Errorf("after a flush the head ends at message %d, the newest compartment at %d", last, want)
	}
	if want := k.messages() / 2; k.rows[len(k.rows)-1].End < want {
		t.Errorf("the compartments end at message %d of %d", k.rows[len(k.rows)-1].End, k.messages())
	}
}

// tellsInParts is a good historian, which makes a compartment of each 12 messages.
func tellsInParts(r historian.Range) mockllm.Step {
	var parts []string
	for from := r.Start; from <= r.End; from += 12 {
		part := historian.Range{Start: from, End: min(from+11, r.End)}
		parts = append(parts, historiantest.Compartment(part, "Told of "+part.String()+", long after the fact"))
	}
	return mockllm.Say(historiantest.Output(parts...))
}
