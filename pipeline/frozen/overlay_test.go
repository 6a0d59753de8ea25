package frozen_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

func everything(s *frozen.State) string {
	return fmt.Sprintf("%+v %+v %+v %d", s.Units(), s.Queue(), s.Setup, s.TagCounter)
}

func TestAnOverlayShowsTheAdditions(t *testing.T) {
	s := three(frozen.Edit{Tag: 2, Kind: frozen.Skeleton})
	s.Setup.Profile = "before"
	before := everything(s)
	o := s.With(frozen.Additions{
		Edits:   []frozen.Edit{{Tag: 1, Kind: frozen.Strip}, {Tag: 2, Kind: frozen.Clamp}, {Tag: 99, Kind: frozen.Drop}},
		Setup:   &frozen.Setup{Profile: "after"},
		Drained: []int{1},
	})
	o.Lay(frozen.Edit{Tag: 1, Kind: frozen.Drop})
	want := frozen.Treatment{Edit: frozen.Drop, Stripped: true}
	if got := o.ByTag(1).Treatment; got != want || o.ByKey("a") != o.ByTag(1) {
		t.Errorf("unit 1 is shown with %+v, want %+v", got, want)
	}
	if o.ByTag(2).Edit != frozen.Skeleton || o.ByTag(99) != nil || o.ByKey("z") != nil || o.Setup.Profile != "after" {
		t.Errorf("unit 2 %q, setup %q", o.ByTag(2).Edit, o.Setup.Profile)
	}
	if got := everything(s); got != before {
		t.Errorf("the state changed from\n%s to\n%s", before, got)
	}
}

func TestCloneOfAnOverlayIsIndependent(t *testing.T) {
	o := three().With(frozen.Additions{Edits: []frozen.Edit{{Tag: 1, Kind: frozen.Strip}}})
	c := o.Clone()
	c.Lay(frozen.Edit{Tag: 1, Kind: frozen.Drop})
	c.Lay(frozen.Edit{Tag: 4, Kind: frozen.Drop})
	if !o.ByTag(1).Active() || !o.ByTag(4).Active() || c.ByTag(1).Active() || c.ByTag(4).Active() || !c.ByTag(1).Stripped {
		t.Errorf("original %+v, clone %+v", o.ByTag(1), c.ByTag(1))
	}
}

func TestAnOverlayShowsTheStateAfterTheCommit(t *testing.T) {
	kinds := []frozen.EditKind{frozen.Clamp, frozen.Withhold, frozen.Skeleton, frozen.Drop, frozen.Strip, frozen.Compress, frozen.Unthink, frozen.Shell}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []frozen.Edit {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) frozen.Edit {
				return frozen.Edit{Tag: rapid.IntRange(0, 5).Draw(t, "tag"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Level: rapid.IntRange(0, 3).Draw(t, "level")}
			}), 0, 8).Draw(t, name)
		}
		s := three(draw("frozen")...)
		before := everything(s)
		a := frozen.Additions{Edits: draw("proposed"), Drained: []int{rapid.IntRange(1, 5).Draw(t, "drained")}}
		if rapid.Bool().Draw(t, "has a setup") {
			a.Setup = &frozen.Setup{Profile: "after"}
		}
		o := s.With(a)
		var shown, backward []frozen.Unit
		for u := range o.Units() {
			shown = append(shown, *u)
		}
		for u := range o.UnitsFromNewest() {
			backward = append(backward, *u)
		}
		if got := everything(s); got != before {
			t.Fatalf("the state changed from\n%s to\n%s", before, got)
		}
		s.Commit(a)
		if diff := cmp.Diff(s.Units(), shown); diff != "" || o.Setup != s.Setup {
			t.Fatalf("committed and shown differ (-committed +shown):\n%s\nsetup %+v and %+v", diff, s.Setup, o.Setup)
		}
		if slices.Reverse(backward); !slices.Equal(backward, shown) {
			t.Fatalf("from the newest: %v, from the oldest: %v", backward, shown)
		}
		if s.Queued(a.Drained[0]) {
			t.Fatalf("the drop of %d is still queued", a.Drained[0])
		}
	})
}
