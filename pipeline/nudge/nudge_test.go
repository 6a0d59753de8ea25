package nudge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

func TestReminderVectors(t *testing.T) {
	for _, test := range []struct {
		reading Reading
		last    Cycle
		want    Level
		next    Cycle
	}{
		{Reading{9_999, 2, 130_000}, Cycle{}, Quiet, Cycle{}},
		{Reading{60_000, 0.4, 130_000}, Cycle{}, Quiet, Cycle{}},
		{Reading{60_000, 0.5, 130_000}, Cycle{}, Gentle, Cycle{60_000, Gentle}},
		{Reading{60_000, 0.9, 130_000}, Cycle{}, Firm, Cycle{60_000, Firm}},
		{Reading{100_000, 0.9, 130_000}, Cycle{60_000, Firm}, Urgent, Cycle{100_000, Urgent}},
		{Reading{60_000, 0.9, 130_000}, Cycle{50_000, Firm}, Quiet, Cycle{50_000, Firm}},
		{Reading{50_000, 0.9, 130_000}, Cycle{60_000, Urgent}, Gentle, Cycle{50_000, Gentle}},
		{Reading{40_000, 1, 1_000_000}, Cycle{}, Quiet, Cycle{}},
	} {
		got, next := Remind(test.reading, test.last)
		if got != test.want || next != test.next {
			t.Errorf("%+v after %+v: %q, %+v; want %q, %+v", test.reading, test.last, got, next, test.want, test.next)
		}
	}
}

func TestReminderRules(t *testing.T) {
	for _, test := range []struct {
		name    string
		reading Reading
		last    Cycle
		want    Level
		next    Cycle
	}{
		{"without a window the pressure alone counts", Reading{10_000, 0.4, 0}, Cycle{}, Firm, Cycle{10_000, Firm}},
		{"a cycle that fell quiet forgets its level", Reading{9_999, 2, 130_000}, Cycle{60_000, Urgent}, Quiet, Cycle{}},
		{"without a level the pile must have grown", Reading{69_999, 1, 100_000}, Cycle{60_000, Quiet}, Quiet, Cycle{60_000, Quiet}},
		{"by 10,000", Reading{70_000, 1, 100_000}, Cycle{60_000, Quiet}, Urgent, Cycle{70_000, Urgent}},
		{"or by 5 % of a large window", Reading{259_999, 1, 1_200_000}, Cycle{200_000, Quiet}, Quiet, Cycle{200_000, Quiet}},
		{"or by that", Reading{260_000, 1, 1_200_000}, Cycle{200_000, Quiet}, Gentle, Cycle{260_000, Gentle}},
		{"a milder tone is no news", Reading{60_000, 0.5, 130_000}, Cycle{60_000, Firm}, Quiet, Cycle{60_000, Firm}},
	} {
		got, next := Remind(test.reading, test.last)
		if got != test.want || next != test.next {
			t.Errorf("%s: %q, %+v; want %q, %+v", test.name, got, next, test.want, test.next)
		}
	}
}

func TestMessageVectors(t *testing.T) {
	for _, test := range []struct {
		reclaimable, usable int
		want                bool
	}{{9_999, 0, false}, {10_000, 0, true}, {20_000, 60_000, true}, {20_000, 60_001, false}, {12_000, -5, true}} {
		if got := WantsMessage(test.reclaimable, test.usable); got != test.want {
			t.Errorf("%d of %d: %t", test.reclaimable, test.usable, got)
		}
	}
}

// Within a cycle, reminders only become more urgent. A drop by the model begins a new cycle, but the model never drops
// anything here.
func TestRemindersOnlyBecomeMoreUrgent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.IntRange(0, 400_000).Draw(t, "window")
		undropped := 0
		var cycle Cycle
		last := 0
		for range rapid.IntRange(1, 60).Draw(t, "tools") {
			undropped += rapid.IntRange(0, 20_000).Draw(t, "output")
			var level Level
			level, cycle = Remind(Reading{undropped, rapid.Float64Range(0, 2).Draw(t, "pressure"), window}, cycle)
			if level == Quiet {
				continue
			}
			if level.rank() <= last {
				t.Fatalf("%s after rank %d", level, last)
			}
			if undropped < worthDropping {
				t.Fatalf("%d tokens are no reason for a word", undropped)
			}
			last = level.rank()
		}
	})
}

// Bug class B19 (docs/defects.md): the host reminded models too early. It counted output that they could not drop yet,
// and it reminded them when only 25,000 tokens of a window of 272,000 could be dropped.
func TestBugB19NobodyIsNagged(t *testing.T) {
	state := frozen.NewState(0, nil, nil, nil)
	for tag := 1; tag <= 20; tag++ {
		state.Add(tool(tag, 10_000))
	}
	if p := Measure(state.With(frozen.Additions{}), 20); p.Reclaimable != 0 || len(p.Oldest) != 0 {
		t.Errorf("protected output is %+v", p)
	}
	const window = 272_000 * 65 / 100
	for _, pressure := range []float64{0.1, 0.5, 1} {
		if level, _ := Remind(Reading{25_000, pressure, window}, Cycle{}); level != Quiet {
			t.Errorf("at pressure %v of a large window: %s", pressure, level)
		}
	}
	// The model has dropped a third of the pile.
	if level, _ := Remind(Reading{40_000, 0.9, 130_000}, Cycle{60_000, Urgent}); level != Gentle {
		t.Errorf("after a drop: %s", level)
	}
}

func tool(tag, tokens int) frozen.Unit {
	return frozen.Unit{Tag: tag, Key: string(rune('a' + tag)), Kind: frozen.ToolUnit, Tool: "read", Tokens: tokens, InputTokens: 1}
}

func TestPileHoldsTheDroppableOutput(t *testing.T) {
	units := []frozen.Unit{
		{Tag: 1, Key: "text", Kind: frozen.TextUnit, Tokens: 500},
		tool(2, 100), tool(3, 200), tool(4, 400), tool(5, 800),
		{Tag: 6, Key: "later", Kind: frozen.TextUnit, Tokens: 5},
		tool(7, 1_600), tool(8, 3_200),
	}
	edits := []frozen.Edit{{Tag: 3, Kind: frozen.Drop}}
	queue := []frozen.QueuedDrop{{Tag: 4, Key: tool(4, 0).Key}}
	for _, test := range []struct {
		protected   int
		reclaimable int
		oldest      []Unit
	}{
		{1, 100 + 800 + 1_600, []Unit{{2, "read"}, {5, "read"}, {7, "read"}}},
		{3, 100 + 800, []Unit{{2, "read"}, {5, "read"}}},
		{6, 0, nil}, // tag 2 is the sixth newest active unit
		{20, 0, nil},
	} {
		got := Measure(frozen.NewState(8, append([]frozen.Unit(nil), units...), nil, queue).With(frozen.Additions{Edits: edits}), test.protected)
		want := Pile{Reclaimable: test.reclaimable, Live: 500 + 101 + 401 + 801 + 5 + 1_601 + 3_201, Oldest: test.oldest}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d protected (-want +got):\n%s", test.protected, diff)
		}
	}
}

func TestPileNamesItsFourOldest(t *testing.T) {
	state := frozen.NewState(0, nil, nil, nil)
	for tag := 1; tag <= 7; tag++ {
		state.Add(tool(tag, 1))
	}
	got := Measure(state.With(frozen.Additions{}), 1)
	if diff := cmp.Diff([]Unit{{1, "read"}, {2, "read"}, {3, "read"}, {4, "read"}}, got.Oldest); diff != "" || got.Reclaimable != 6 {
		t.Errorf("%d tokens, oldest (-want +got):\n%s", got.Reclaimable, diff)
	}
}
