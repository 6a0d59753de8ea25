package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
)

// With a historian, the messages of a session can be several times as large as its window. The provider must still
// accept every prompt, and each message must be in the prompt or in a summary.
func TestLongHistory(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testLongHistory(t, schema.HarnessOpenCode)
}

type longHistory struct {
	turns, steps int // the number of turns, and of steps in each turn
	words, lines int // the size of a message in words, and of an output in lines
	publishes    int // the smallest number of publications
}

func sizeOfLongHistory() longHistory {
	if suite.All() {
		return longHistory{turns: 20, steps: 20, words: 100, lines: 30, publishes: 6}
	}
	return longHistory{turns: 10, steps: 20, words: 100, lines: 30, publishes: 2}
}

func testLongHistory(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	k := w.talk(w.launch(w.withHistorian()), "long", tellsInParts)
	size := sizeOfLongHistory()
	k.words, k.lines = size.words, size.lines
	for range size.turns {
		k.turn(size.steps)
		k.settle()
	}
	k.flush()
	k.turn(1)
	w.stop(k.agent)
	w.stopHost()
	k.read()
	k.checkHistory()

	if n := k.messages(); n < size.turns*(1+size.steps) {
		t.Errorf("the session has %d messages", n)
	}
	if n := len(k.publishes()); n < size.publishes {
		t.Errorf("%d publishes", n)
	}
	t.Logf("%d messages, %d publishes", k.messages(), len(k.publishes()))
	for _, row := range k.rows {
		if row.MadeBy != chronicle.ByModel {
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

func TestLongTurn(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testLongTurn(t, schema.HarnessOpenCode)
}

// Each turn is longer than the window, so its older steps must be summarised while it runs. Each request must still
// contain the prompt that the model is answering (see checkHistory).
func testLongTurn(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	k := w.talk(w.launch(w.withHistorian()), "long", tellsInParts)
	k.words, k.lines = 100, 120
	for range 2 {
		k.turn(60)
		k.settle()
	}
	w.stop(k.agent)
	w.stopHost()
	k.read()
	k.checkHistory()
	if n := len(k.publishes()); n < 2 {
		t.Errorf("%d publishes", n)
	}
	pinned := 0
	for _, r := range k.requests(k.session) {
		if h := headOf(r); h.baseline != "" && slices.Contains(marksBehind(r, h), "task 1:") {
			pinned++
		}
	}
	if pinned < 10 {
		t.Errorf("the head and the prompt of the first turn stand in %d requests", pinned)
	}
}

func TestUsersCompaction(t *testing.T) { testUsersCompaction(t, schema.HarnessOpenCode) }

// The user runs the harness's own /compact. The harness replaces the old messages with a summary of its own. The
// history must contain this summary for them, and the historian must summarise only the later messages.
func testUsersCompaction(t *testing.T, h schema.Harness) {
	needs(t, h)
	if h == schema.HarnessPi && suite.Pi() == pitest.V074 {
		t.Skip("0.74 does not give the reason of a compaction, so the extension also cancels the user's above the threshold")
	}
	t.Parallel()
	const told = "All that the harness has taken, in a sentence."
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	w.mock.AddRule(mockllm.Rule{ // the harness's request for a summary: it has no heading of the historian
		Name: "compaction", Answer: mockllm.Always(mockllm.Say(told)),
		Match: func(r *mockllm.Request) bool {
			return mockllm.WithoutTools(r) && shownToHistorian(r, "long") == chronicle.Range{}
		},
	})
	k := w.talk(w.launch(w.withHistorian()), "long", tellsInParts)
	size := longHistory{turns: 3, steps: 8, words: 2_200, lines: 60}
	k.words, k.lines = size.words, size.lines
	play := func() {
		for range size.turns {
			k.turn(size.steps)
			k.settle()
		}
	}
	play()
	w.compact(k.agent, k.session)
	play()
	k.flush()
	k.turn(1)
	w.stop(k.agent)
	w.stopHost()
	k.read()

	filler := slices.IndexFunc(k.rows, func(row chronicle.Compartment) bool { return row.MadeBy == chronicle.ByHarness })
	// On a busy machine, the historian may have been faster than the user's compaction, and have summarised everything
	// that the compaction removed. Then the history does not need the harness's summary.
	isNeeded := slices.ContainsFunc(k.rows, func(row chronicle.Compartment) bool { return row.MadeBy != chronicle.ByModel })
	if isNeeded && (filler < 0 || !strings.Contains(k.rows[filler].Tiers[0], told)) {
		t.Fatalf("no compartment holds the harness's summary: %+v", k.rows)
	}
	for i, row := range k.rows[1:] {
		if row.Start != k.rows[i].End+1 {
			t.Errorf("the compartment from %d on follows one that ends at %d", row.Start, k.rows[i].End)
		}
	}
	if behind := k.rows[filler+1:]; len(behind) == 0 || behind[0].MadeBy != chronicle.ByModel {
		t.Errorf("the historian does not go on after the harness's summary: %+v", behind)
	}
	last := k.last(k.session)
	busted := 0
	for _, p := range k.passes {
		if p.BustCause != "" {
			busted = p.Pass
		}
	}
	want := 0
	for _, r := range k.publishes() {
		if r.Pass < busted {
			want = r.End
		}
	}
	if through := headOf(last).through; want == 0 || through != want {
		t.Errorf("the head ends at message %d; the historian's newest run before the last bust ends at %d", through, want)
	}
	holding := 0 // Pi summarises the start of a turn separately, so one message may contain the sentence twice
	for _, m := range last.Messages {
		if slices.ContainsFunc(m.Content, func(c mockllm.Content) bool { return strings.Contains(c.Text, told) }) {
			holding++
		}
	}
	if isNeeded && holding != 1 {
		t.Errorf("the harness's summary stands in %d messages of the newest request", holding)
	}
	requests := k.requests(k.session)
	k.explainAFailure(requests)
	for _, r := range requests {
		checkRequest(t, r)
	}
	checkBusts(t, requests, k.passes)
}

// tellsInParts plays a historian that gives a valid answer. It writes one compartment for every 12 messages.
func tellsInParts(r chronicle.Range) mockllm.Step { return tellsInPartsOf("Told")(r) }

func tellsInPartsOf(word string) func(chronicle.Range) mockllm.Step {
	return func(r chronicle.Range) mockllm.Step {
		var parts []string
		for from := r.Start; from <= r.End; from += 12 {
			part := chronicle.Range{Start: from, End: min(from+11, r.End)}
			parts = append(parts, historiantest.Compartment(part, word+" of "+part.String()+", long after the fact"))
		}
		return mockllm.Say(historiantest.Output(parts...))
	}
}
