package rule

import (
	"fmt"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// planOfV06 is vector V06 of spec transform §29 as the planner's input: tokens
// are the bytes by four, and the tail is all of them.
func planOfV06() tierPlan {
	p := tierPlan{MaxTag: 40, Protected: 20, Current: 108_000, Ceiling: 78_000}
	for _, tool := range []struct {
		tag, bytes int
		name       string
	}{
		{1, 40_000, "read"},
		{2, 40_000, "bash"},
		{3, 20_000, "edit"},
		{4, 40_000, "read"},
		{5, 20_000, "grep"},
		{6, 60_000, "webfetch"},
		{7, 8_000, "mcp_Read"},
		{40, 4_000, "bash"},
	} {
		p.Candidates = append(p.Candidates, tierCandidate{tool.tag, tierOf(tool.name), tool.bytes / 4})
		p.Tail += tool.bytes / 4
	}
	p.Tail += 40_000 / 4 // the message
	return p
}

// Vector V06. Its case with a sample that was used before is
// TestBugA29SameMeasurementDropsNothingMore, because here the goal says so.
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
		// From here on by the rules of §16, by hand.
		{"nothing was measured", func(p *tierPlan) { p.Current = 0 }, nil, 0},
		// floor 40,000, target 40,000+0.3·(c−40,000) = 105,999.9 and 106,000.2
		{"2,000 tokens are not worth it", func(p *tierPlan) { p.Ceiling = 260_000 }, nil, 0},
		{"2,001 are", func(p *tierPlan) { p.Ceiling = 259_997 }, []int{2}, 2001},
		// A lower goal of the pass wins over the spec's target of 51,400.
		{"the lower target", func(p *tierPlan) { p.Target = 51_000 }, []int{2, 6, 3, 1, 4}, 57_000},
		{"the higher target", func(p *tierPlan) { p.Target = 90_000 }, []int{2, 6, 3, 1, 4}, 56_600},
		// Without a tail all is irreducible: nothing may be asked of the tools
		// beyond the ceiling's share, and floor 108,000 leaves nothing to ask.
		{"all is irreducible", func(p *tierPlan) { p.Tail = 0 }, nil, 0},
		{"no candidates", func(p *tierPlan) { p.Candidates = nil }, nil, 0},
	} {
		p := planOfV06()
		c.change(&p)
		if tags, reclaim := p.choose(); !slices.Equal(tags, c.tags) || reclaim != c.reclaim {
			t.Errorf("%s: %v, %d; want %v, %d", c.name, tags, reclaim, c.tags, c.reclaim)
		}
	}
}

func TestTierOf(t *testing.T) {
	for tool, want := range map[string]int{
		"read": 1, "todowrite": 1, "task": 1, "aft_outline": 1, "aft_zoom": 1,
		"edit": 2, "write": 2, "apply_patch": 2, "grep": 2, "glob": 2, "aft_search": 2,
		"bash": 3, "webfetch": 3, "": 3, "mcp_": 3,
		"mcp_Read": 1, "MCP_grep": 2, "READ": 1, "mcp_mcp_read": 3, "reader": 3,
	} {
		if got := tierOf(tool); got != want {
			t.Errorf("tierOf(%q) = %d, want %d", tool, got, want)
		}
	}
}

// The newest fifth of the better tiers is spared, rounded up, and a tool that
// age protects counts there.
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

// tiered is a session of 40,000 tokens, 30,000 of them in three tools, of which
// age protects none.
func tiered() View {
	units := []frozen.Unit{
		{Tag: 1, Key: "1", Kind: frozen.ToolUnit, Tool: "edit", Tokens: 9_000, InputTokens: 1_000},
		{Tag: 2, Key: "2", Kind: frozen.ToolUnit, Tool: "bash", Tokens: 10_000},
		{Tag: 3, Key: "3", Kind: frozen.ToolUnit, Tool: "webfetch", Tokens: 10_000},
		{Tag: 4, Key: "4", Kind: frozen.TextUnit, Tokens: 10_000},
	}
	v := View{State: frozen.NewState(0, units, nil, nil), Goal: Goal{Current: 40_000, Ceiling: 20_000, Target: 25_000, Measured: true}}
	for tag := 1; tag <= 4; tag++ {
		v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: tag, Facts: Facts{Path: fmt.Sprint("/", tag)}}}})
	}
	v.Need = v.Goal.Current - v.Goal.Target
	return v
}

func TestTieredDrop(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*View, *Knobs)
		want   string
	}{
		// The tail is 39,992 (a text leaves its placeholder), so the floor 8 and
		// the target 8+0.3·(20,000−8) = 6,005.6: 33,994 are wanted, more than the
		// tools have; the edit is the newest fifth of its tier.
		{"third tier first, oldest first, down to the spec's target", func(*View, *Knobs) {}, "[{2 drop} {3 drop}]"},
		// Irreducible are 100,000: the target is the goal's.
		{"no more than asked", func(v *View, _ *Knobs) {
			v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
			v.Need = 5_000
		}, "[{2 drop}]"},
		{"nothing measured since the last bust (A29)", func(v *View, _ *Knobs) { v.Goal.Measured = false }, "[]"},
		{"age protects", func(_ *View, k *Knobs) { k.ProtectedTags = 2 }, "[{2 drop}]"},
		{"what is dropped", func(v *View, _ *Knobs) { v.State.Freeze([]frozen.Edit{{Tag: 2, Kind: frozen.Skeleton}}) }, "[{3 drop}]"},
		{"a protected path", func(_ *View, k *Knobs) { k.IsProtectedPath = func(p string) bool { return p == "/2" } }, "[{3 drop}]"},
	} {
		v, k := tiered(), Knobs{}
		c.change(&v, &k)
		if got := fmt.Sprint(TieredDrop(v, k)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Bug class B13: what cannot be dropped counted as freed, so too little was.
func TestBugB13OnlyWhatCanGoCounts(t *testing.T) {
	v := tiered()
	v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 5_000
	v.Messages[1].Items[0].Open = true
	if got := fmt.Sprint(TieredDrop(v, Knobs{})); got != "[{3 drop}]" {
		t.Errorf("beside a call without result: %s", got)
	}
}

// Bug class B14: too little was dropped, because conversation counted as
// irreducible, or because what earlier rules had dropped counted as still there.
func TestBugB14TailIsAllThatIsActive(t *testing.T) {
	// Ten tools of 5,000 and a text of 30,000, all of the 80,000 that are sent.
	// The floor is the text's placeholder, 8; the target 8+0.3·59,992 = 18,005.6;
	// 61,994 are wanted, all ten tools. If the text were irreducible, the target
	// would be 30,000+0.3·30,000 = 39,000, and nine tools enough.
	text := frozen.Unit{Tag: 1, Key: "text", Kind: frozen.TextUnit, Tokens: 30_000}
	v := View{State: frozen.NewState(0, []frozen.Unit{text}, nil, nil), Goal: Goal{Current: 80_000, Ceiling: 60_000, Target: 80_000, Measured: true}}
	v.Messages = []Message{{Role: User, Items: []Item{{Tag: 1}}}}
	for tag := 2; tag <= 11; tag++ {
		v.State.Add(frozen.Unit{Key: fmt.Sprint(tag), Kind: frozen.ToolUnit, Tool: "bash", Tokens: 5_000})
		v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: tag}}})
	}
	if got := TieredDrop(v, Knobs{}); len(got) != 10 {
		t.Errorf("%d tools go, want 10", len(got))
	}

	// The earlier rules have freed 3,500 of the 5,000 that are asked: 1,500 more
	// are not worth it.
	v = tiered()
	v.Goal = Goal{Current: 140_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 1_500
	if got := TieredDrop(v, Knobs{}); len(got) > 0 {
		t.Errorf("edits %v", got)
	}
}

// Bug class B16: drops of calls that are not there were kept.
func TestBugB16NothingInvisibleIsDropped(t *testing.T) {
	v := tiered()
	v.State.Setup.ReclaimUpTo = 4
	v.Messages[1].Items = nil
	for name, propose := range map[string]func(View, Knobs) []frozen.Edit{"tiered drop": TieredDrop, "tool reclaim": ToolReclaim, "protected results": ProtectedResults} {
		for _, e := range propose(v, Knobs{ProtectedTags: 1}) {
			if e.Tag == 2 {
				t.Errorf("%s drops it", name)
			}
		}
	}
}

// Bug class A30: the tiers jump over lower tags, which a cursor would then have
// taken for done.
func TestBugA30LowerTagsAreStillThereForTheNextEmergency(t *testing.T) {
	v := tiered()
	v.State.ByTag(1).Tool = "read"
	v.State.Add(frozen.Unit{Key: "5", Kind: frozen.ToolUnit, Tool: "read", Tokens: 10_000}) // the reserve of its tier
	v.Messages = append(v.Messages, Message{Role: Assistant, Items: []Item{{Tag: 5}}})
	v.Goal = Goal{Current: 150_000, Ceiling: 400_000, Target: 135_000, Measured: true}
	v.Need = 15_000
	first := TieredDrop(v, Knobs{})
	if got := fmt.Sprint(first); got != "[{2 drop} {3 drop}]" {
		t.Fatalf("first %s", got)
	}
	v.State.Freeze(first)
	v.Goal.Current, v.Need = 145_000, 10_000
	if got := fmt.Sprint(TieredDrop(v, Knobs{})); got != "[{1 drop}]" {
		t.Errorf("second %s", got)
	}
}

// Vector V11 of spec transform §29, whole: the position of ten.
func TestCompressionVector(t *testing.T) {
	var got []int
	for i := range 10 {
		got = append(got, compressionOf(i, 10))
	}
	if want := []int{3, 3, 2, 2, 1, 1, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// p/n < 0.2 at the odd counts: 0/3, 1/3, 2/3 and 0/1.
	for _, c := range []struct{ i, n, want int }{{0, 3, 3}, {1, 3, 2}, {2, 3, 0}, {0, 1, 3}, {1, 6, 3}, {2, 6, 2}, {3, 6, 1}, {4, 6, 0}} {
		if got := compressionOf(c.i, c.n); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.i, c.n, got, c.want)
		}
	}
}
