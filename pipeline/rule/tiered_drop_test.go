package rule

import (
	"fmt"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// The size of a unit in tokens is its bytes divided by four, and the tail is the sum of all units.
func examplePlan() tierPlan {
	p := tierPlan{MaxTag: 40, Protected: 20, Current: 108_000, Ceiling: 78_000}
	for _, tool := range []struct {
		tag, bytes, tier int
	}{
		{1, 40_000, 1},
		{2, 40_000, 3},
		{3, 20_000, 2},
		{4, 40_000, 1},
		{5, 20_000, 2},
		{6, 60_000, 3},
		{7, 8_000, 1},
		{40, 4_000, 3},
	} {
		p.Candidates = append(p.Candidates, tierCandidate{tool.tag, tool.tier, tool.bytes / 4})
		p.Tail += tool.bytes / 4
	}
	p.Tail += 40_000 / 4 // the message
	return p
}

// Old measurements have their own test in package pipeline: TestBugA29SameMeasurementDropsNothingMore.
func TestTierPlanVector(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*tierPlan)
		tags    []int
		reclaim int
	}{
		{"base", func(*tierPlan) {}, []int{2, 6, 3, 1, 4}, 56_600},
		{"below the ceiling", func(p *tierPlan) { p.Current, p.Ceiling = 70_000, 100_000 }, []int{2, 6, 3, 1}, 38_600},
		{"no ceiling", func(p *tierPlan) { p.Ceiling = 0 }, nil, 0},
		{"all are protected", func(p *tierPlan) { p.Protected = 100 }, nil, 0},
		{"nothing was measured", func(p *tierPlan) { p.Current = 0 }, nil, 0},
		// The floor is 40,000, so the target is 40,000+0.3·(ceiling−40,000):
		// 106,000 in the first case and 105,999.1 in the second.
		{"2,000 tokens are not worth it", func(p *tierPlan) { p.Ceiling = 260_000 }, nil, 0},
		{"2,001 are", func(p *tierPlan) { p.Ceiling = 259_997 }, []int{2}, 2001},
		// The target is the lower of the pass's target and the 51,400 from tierTarget.
		{"the lower target", func(p *tierPlan) { p.Target = 51_000 }, []int{2, 6, 3, 1, 4}, 57_000},
		{"the higher target", func(p *tierPlan) { p.Target = 90_000 }, []int{2, 6, 3, 1, 4}, 56_600},
		// Without a tail the whole prompt is irreducible.
		{"all is irreducible", func(p *tierPlan) { p.Tail = 0 }, nil, 0},
		{"no candidates", func(p *tierPlan) { p.Candidates = nil }, nil, 0},
	} {
		p := examplePlan()
		c.change(&p)
		if tags, reclaim := p.choose(); !slices.Equal(tags, c.tags) || reclaim != c.reclaim {
			t.Errorf("%s: %v, %d; want %v, %d", c.name, tags, reclaim, c.tags, c.reclaim)
		}
	}
}

// In tier 1 and in tier 2, the rule keeps the newest fifth of the calls, rounded up. A call that is protected for
// another reason counts towards this fifth.
func TestTierReserve(t *testing.T) {
	for _, c := range []struct {
		tier, n int
		want    []int
	}{
		{1, 1, []int{1}}, {1, 5, []int{5}}, {1, 6, []int{5, 6}}, {2, 10, []int{9, 10}}, {2, 11, []int{9, 10, 11}}, {3, 10, nil}, {1, 0, nil},
	} {
		var p tierPlan
		for i := range c.n {
			p.Candidates = append(p.Candidates, tierCandidate{i + 1, c.tier, 1})
		}
		var got []int
		for tag := 1; tag <= c.n; tag++ {
			if p.reserved()[tag] {
				got = append(got, tag)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d of tier %d: %v, want %v", c.n, c.tier, got, c.want)
		}
	}
}

// The function `tiered` returns a session of 40,000 tokens. Three arcs that are not protected have 30,000 of them.
func tiered() (View, *frozen.State) {
	units := []frozen.Unit{
		{Tag: 1, Key: "1", Kind: frozen.ToolUnit, Tool: "edit", Tokens: 9_000, InputTokens: 1_000},
		{Tag: 2, Key: "2", Kind: frozen.ToolUnit, Tool: "bash", Tokens: 10_000},
		{Tag: 3, Key: "3", Kind: frozen.ToolUnit, Tool: "webfetch", Tokens: 10_000},
		{Tag: 4, Key: "4", Kind: frozen.TextUnit, Tokens: 10_000},
	}
	state := frozen.NewState(0, units, nil, nil)
	v := View{State: state.With(frozen.Additions{}), Goal: Goal{Current: 40_000, Ceiling: 20_000, Target: 25_000, Measured: true}}
	for tag := 1; tag <= 4; tag++ {
		v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: tag, Facts: Facts{Path: fmt.Sprint("/", tag)}}}})
	}
	v.Messages[0].Items[0].Tier = 2
	v.Need = v.Goal.Current - v.Goal.Target
	return v, state
}

func TestTieredDrop(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*View, *Knobs)
		want   string
	}{
		// Of the 40,000 tokens, only the 8 tokens of the text's placeholder cannot be removed: they are the floor. The
		// target is 8+0.3·(20,000−8) = 6,005.6. To reach it, the rule would have to free 33,994 tokens, more than all
		// tools have. It still keeps the call of `edit`, which is the newest fifth of its tier.
		{"third tier first, oldest first, down to the spec's target", func(*View, *Knobs) {}, "[{2 drop} {3 drop}]"},
		{"no more than asked", func(v *View, _ *Knobs) {
			v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
			v.Need = 5_000
		}, "[{2 drop}]"},
		{"nothing measured since the last bust (A29)", func(v *View, _ *Knobs) { v.Goal.Measured = false }, "[]"},
		{"age protects", func(_ *View, k *Knobs) { k.ProtectedTags = 2 }, "[{2 drop}]"},
		{"what is dropped", func(v *View, _ *Knobs) { v.State.Lay(frozen.Edit{Tag: 2, Kind: frozen.Skeleton}) }, "[{3 drop}]"},
		{"a protected path", func(_ *View, k *Knobs) { k.IsProtectedPath = func(p string) bool { return p == "/2" } }, "[{3 drop}]"},
	} {
		v, _ := tiered()
		k := Knobs{}
		c.change(&v, &k)
		if got := fmt.Sprint(TieredDrop(v, k)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Bug class B13: the rule chose units that it could not drop, and counted their tokens as freed. So it freed too
// little.
func TestBugB13OnlyDroppableUnitsCount(t *testing.T) {
	v, _ := tiered()
	v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 5_000
	v.Messages[1].Items[0].Open = true
	if got := fmt.Sprint(TieredDrop(v, Knobs{})); got != "[{3 drop}]" {
		t.Errorf("beside a call without result: %s", got)
	}
}

// Bug class B14: the rule counted texts, and units that earlier rules had dropped, as content that no rule can remove.
// So its target was too high, and it dropped too little.
func TestBugB14TailIncludesEveryActiveUnit(t *testing.T) {
	// The prompt of 80,000 tokens has ten tools of 5,000 tokens and a text of 30,000. Only the placeholder of the text,
	// 8 tokens, is irreducible. So the target is 8+0.3·59,992 = 18,005.6, and all ten tools are dropped. If the text
	// were irreducible, the target would be 30,000+0.3·30,000 = 39,000, and nine tools would be enough.
	text := frozen.Unit{Tag: 1, Key: "text", Kind: frozen.TextUnit, Tokens: 30_000}
	state := frozen.NewState(0, []frozen.Unit{text}, nil, nil)
	v := View{State: state.With(frozen.Additions{}), Goal: Goal{Current: 80_000, Ceiling: 60_000, Target: 80_000, Measured: true}}
	v.Messages = []Message{{Role: User, Items: []Item{{Tag: 1}}}}
	for tag := 2; tag <= 11; tag++ {
		state.Add(frozen.Unit{Key: fmt.Sprint(tag), Kind: frozen.ToolUnit, Tool: "bash", Tokens: 5_000})
		v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: tag}}})
	}
	if got := TieredDrop(v, Knobs{}); len(got) != 10 {
		t.Errorf("%d tools go, want 10", len(got))
	}

	// The earlier rules have freed 3,500 of 5,000 tokens, so 1,500 are left. This is less than minReclaim.
	v, _ = tiered()
	v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 1_500
	if got := TieredDrop(v, Knobs{}); len(got) > 0 {
		t.Errorf("edits %v", got)
	}
}

// Bug class B16: rules dropped calls that were no longer in the harness's array.
func TestBugB16NothingInvisibleIsDropped(t *testing.T) {
	v, _ := tiered()
	v.ReclaimUpTo = 4
	v.Messages[1].Items = nil
	for name, propose := range map[string]func(View, Knobs) []frozen.Edit{"tiered drop": TieredDrop, "tool reclaim": ToolReclaim, "protected results": ProtectedResults} {
		for _, e := range propose(v, Knobs{ProtectedTags: 1}) {
			if e.Tag == 2 {
				t.Errorf("%s drops it", name)
			}
		}
	}
}

// Bug class A30: the rule chooses by tier and not by age, so it may drop tag 3 and keep tag 1. The bug: the host stored
// only the highest dropped tag, and believed that all lower tags were dropped, too. So a later pass could not drop tag
// 1.
func TestBugA30LowerTagsAreStillThereForTheNextEmergency(t *testing.T) {
	v, state := tiered()
	v.Messages[0].Items[0].Tier = 1
	state.Add(frozen.Unit{Key: "5", Kind: frozen.ToolUnit, Tool: "read", Tokens: 10_000}) // not dropped, because it is the newest fifth of its tier
	v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: 5, Facts: Facts{Tier: 1}}}})
	v.Goal = Goal{Current: 150_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 15_000
	first := TieredDrop(v, Knobs{})
	if got := fmt.Sprint(first); got != "[{2 drop} {3 drop}]" {
		t.Fatalf("first %s", got)
	}
	for _, e := range first {
		v.State.Lay(e)
	}
	v.Goal.Current, v.Need = 145_000, 10_000
	if got := fmt.Sprint(TieredDrop(v, Knobs{})); got != "[{1 drop}]" {
		t.Errorf("second %s", got)
	}
}

// Of ten texts, the oldest are compressed most, and the newest four not at all.
func TestCompressionVector(t *testing.T) {
	var got []int
	for i := range 10 {
		got = append(got, compressionOf(i, 10))
	}
	if want := []int{3, 3, 2, 2, 1, 1, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Text i of n gets level 3 if i/n is below 0.2, level 2 below 0.4, and level 1 below 0.6.
	for _, c := range []struct{ i, n, want int }{{0, 3, 3}, {1, 3, 2}, {2, 3, 0}, {0, 1, 3}, {1, 6, 3}, {2, 6, 2}, {3, 6, 1}, {4, 6, 0}} {
		if got := compressionOf(c.i, c.n); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.i, c.n, got, c.want)
		}
	}
}
