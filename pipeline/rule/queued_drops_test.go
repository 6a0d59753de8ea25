package rule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

// state returns a state with one unit for each letter: t is a text, f a file and c a tool call. A capital letter is a
// unit that is already dropped.
func state(letters string, queue ...int) *frozen.State {
	kinds := map[rune]frozen.UnitKind{'t': frozen.TextUnit, 'f': frozen.FileUnit, 'c': frozen.ToolUnit}
	var units []frozen.Unit
	for i, l := range letters {
		u := frozen.Unit{Tag: i + 1, Key: fmt.Sprint(i)}
		if l < 'a' {
			l, u.Edit = l+'a'-'A', frozen.Drop
		}
		u.Kind = kinds[l]
		units = append(units, u)
	}
	var drops []frozen.QueuedDrop
	for _, tag := range queue {
		drops = append(drops, frozen.QueuedDrop{Tag: tag, Key: fmt.Sprint(tag - 1)})
	}
	return frozen.NewState(0, units, nil, drops)
}

func TestQueuedDrops(t *testing.T) {
	const twenty = "cccccccccccccccccccc"
	for _, c := range []struct {
		name      string
		letters   string
		queue     []int
		protected int
		hard      bool
		open      int // the tag of a tool arc without a result
		want      string
	}{
		{"nothing is queued", "ttt", nil, 1, false, 0, "[]"},
		{"texts and files become placeholders", "tft", []int{1, 2}, 1, false, 0, "[{1 drop} {2 drop}]"},
		{"in the order of the queue", "ttt", []int{2, 1}, 1, false, 0, "[{2 drop} {1 drop}]"},
		{"the newest are protected", "ttt", []int{1, 2, 3}, 2, false, 0, "[{1 drop}]"},
		{"dropped ones protect nothing", "tttTT", []int{1, 2, 3}, 2, false, 0, "[{1 drop}]"},
		{"with fewer units than that all are protected", "tt", []int{1, 2}, 3, false, 0, "[]"},
		{"a hard pass protects nothing", "ttt", []int{1, 2, 3}, 2, true, 0, "[{1 drop} {2 drop} {3 drop}]"},
		{"what is dropped is not dropped again", "Tt", []int{1}, 1, false, 0, "[]"},
		{"an unknown tag", "tt", []int{9, 1}, 1, false, 0, "[{1 drop}]"},
		{"an arc without result waits", "ct", []int{1}, 1, false, 1, "[]"},
		{"on a hard pass too", "ct", []int{1}, 1, true, 1, "[]"},
		{"a recent tool leaves a skeleton", "ct", []int{1}, 1, false, 0, "[{1 skeleton}]"},
		{"the 20th newest too", twenty + "t", []int{1}, 1, false, 0, "[{1 skeleton}]"},
		{"the 21st does not", "c" + twenty + "t", []int{1, 2}, 1, false, 0, "[{1 drop} {2 skeleton}]"},
		{"dropped tools count among the 20", "cC" + twenty[1:] + "t", []int{1}, 1, false, 0, "[{1 drop}]"},
		{"texts do not", "ctttt" + twenty[1:] + "t", []int{1}, 1, false, 0, "[{1 skeleton}]"},
	} {
		v := rule.View{State: state(c.letters, c.queue...).With(frozen.Additions{}), PrefixIsGone: c.hard}
		if c.open != 0 {
			v.Messages = []rule.Message{{Items: []rule.Item{{Tag: c.open, Facts: rule.Facts{Open: true}}}}}
		}
		if got := fmt.Sprint(rule.QueuedDrops(v, rule.Knobs{ProtectedTags: c.protected})); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestIsProtected(t *testing.T) {
	s := state("ttTt")
	var got []bool
	for tag := 1; tag <= 4; tag++ {
		got = append(got, rule.IsProtected(s, tag, rule.Knobs{ProtectedTags: 2}))
	}
	if diff := cmp.Diff([]bool{false, true, true, true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProposeLeavesTheStateAsItWas(t *testing.T) {
	s := state("tcTt", 1, 2, 3)
	before := fmt.Sprintf("%+v %+v", s.Units(), s.Queue())
	p := rule.Propose(rule.View{State: s.With(frozen.Additions{})}, rule.Knobs{ProtectedTags: 1})
	if got := fmt.Sprint(p.Edits); got != "[{1 drop} {2 skeleton}]" {
		t.Errorf("edits %s", got)
	}
	if after := fmt.Sprintf("%+v %+v", s.Units(), s.Queue()); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

func TestEarlierRulesWin(t *testing.T) {
	table := rule.Table
	defer func() { rule.Table = table }()
	var seen bool
	rule.Table = []rule.Rule{
		{Name: "first", Propose: func(rule.View, rule.Knobs) []frozen.Edit { return []frozen.Edit{{Tag: 1, Kind: frozen.Drop}} }},
		{Name: "second", Propose: func(v rule.View, _ rule.Knobs) []frozen.Edit {
			seen = !v.State.ByTag(1).Active()
			return nil
		}},
	}
	s := state("tt")
	rule.Propose(rule.View{State: s.With(frozen.Additions{})}, rule.Knobs{})
	if !seen {
		t.Error("the second rule sees the unit as active")
	}
	if !s.ByTag(1).Active() {
		t.Error("proposing froze the edit")
	}
}
