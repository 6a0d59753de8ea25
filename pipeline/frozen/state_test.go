package frozen_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

func three(edits ...frozen.Edit) *frozen.State {
	return frozen.NewState(5, []frozen.Unit{
		{Tag: 1, Key: "a", MessageKey: "m1", Kind: frozen.TextUnit},
		{Tag: 2, Key: "b", MessageKey: "m1", Kind: frozen.ToolUnit},
		{Tag: 4, Key: "c", MessageKey: "m2", Kind: frozen.TextUnit},
	}, edits, []frozen.QueuedDrop{{Tag: 4, Key: "c"}, {Tag: 1, Key: "a"}})
}

func TestTagsAreNeverGivenTwice(t *testing.T) {
	s := three()
	if u := s.Add(frozen.Unit{Key: "d", MessageKey: "m3"}); u.Tag != 6 {
		t.Errorf("the tag after counter 5 is %d", u.Tag)
	}
	s.Forget(map[string]bool{"m3": true})
	if u := s.Add(frozen.Unit{Key: "e", MessageKey: "m4"}); u.Tag != 7 {
		t.Errorf("the tag after a forgotten 6 is %d", u.Tag)
	}
	if low := frozen.NewState(1, s.Units(), nil, nil); low.TagCounter != 7 {
		t.Errorf("the counter is %d, want that of the highest unit, 7", low.TagCounter)
	}
}

func TestAnEditIsForEver(t *testing.T) {
	s := three(frozen.Edit{Tag: 2, Kind: frozen.Skeleton})
	s.Commit(frozen.Additions{Edits: []frozen.Edit{{Tag: 2, Kind: frozen.Clamp}, {Tag: 99, Kind: frozen.Drop}, {Tag: 1, Kind: frozen.Drop}}})
	if got := []frozen.EditKind{s.ByTag(1).Edit, s.ByTag(2).Edit, s.ByTag(4).Edit}; !slices.Equal(got, []frozen.EditKind{frozen.Drop, frozen.Skeleton, frozen.NoEdit}) {
		t.Errorf("edits: %q", got)
	}
	if s.ByTag(99) != nil || s.ByKey("z") != nil {
		t.Error("a unit nobody added is there")
	}
}

func TestOrderOfEditsDoesNotMatter(t *testing.T) {
	kinds := []frozen.EditKind{frozen.Clamp, frozen.Withhold, frozen.Skeleton}
	for i, a := range kinds {
		for _, b := range kinds[i+1:] {
			one, other := three(frozen.Edit{Tag: 2, Kind: a}, frozen.Edit{Tag: 2, Kind: b}), three(frozen.Edit{Tag: 2, Kind: b}, frozen.Edit{Tag: 2, Kind: a})
			if got, want := one.ByTag(2).Treatment, other.ByTag(2).Treatment; got != want {
				t.Errorf("%s, then %s: %+v; the other way round: %+v", a, b, got, want)
			}
		}
	}
}

func TestQueueKeepsItsOrder(t *testing.T) {
	s := three()
	s.Enqueue(frozen.QueuedDrop{Tag: 2, Key: "first"}, frozen.QueuedDrop{Tag: 4, Key: "again"}, frozen.QueuedDrop{Tag: 2, Key: "again"})
	want := []frozen.QueuedDrop{{Tag: 4, Key: "c"}, {Tag: 1, Key: "a"}, {Tag: 2, Key: "first"}}
	if diff := cmp.Diff(want, s.Queue()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Commit(frozen.Additions{Drained: []int{1, 7}})
	if s.Queued(1) || !s.Queued(2) || !s.Queued(4) {
		t.Errorf("after draining 1: %v", s.Queue())
	}
}

// Bug D6 (docs/defects.md): the model asked to drop a unit. Before the drop was applied, the unit was lost, and another
// unit got its tag. The drop must not remove the other unit, so it applies only if both its tag and its key match.
func TestQueuedDropIsOfItsUnitOnly(t *testing.T) {
	units := []frozen.Unit{{Tag: 1, Key: "a"}, {Tag: 2, Key: "b"}, {Tag: 3, Key: "c"}}
	s := frozen.NewState(3, units, nil, []frozen.QueuedDrop{{Tag: 1, Key: "b"}, {Tag: 2, Key: "b"}, {Tag: 3}, {Tag: 4, Key: "d"}})
	if diff := cmp.Diff([]frozen.QueuedDrop{{Tag: 2, Key: "b"}}, s.Queue()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Queued(1) || s.Queued(3) || s.Queued(4) {
		t.Error("a drop of another unit counts as queued")
	}
}

func TestForgottenMessagesLeaveNothing(t *testing.T) {
	s := three(frozen.Edit{Tag: 4, Kind: frozen.Drop})
	s.Forget(map[string]bool{"m1": true, "unknown": true})
	if s.ByTag(1) != nil || s.ByKey("b") != nil || s.Queued(1) {
		t.Error("something of m1 is left")
	}
	if u := s.ByKey("c"); u == nil || u.Tag != 4 || u.Edit != frozen.Drop || !s.Queued(4) {
		t.Errorf("m2 suffered: %+v, queue %v", u, s.Queue())
	}
}

func TestStateFindsWhatItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := frozen.NewState(0, nil, nil, nil)
		highest := 0
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			message := fmt.Sprintf("m%d", rapid.IntRange(0, 5).Draw(t, "message"))
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				s.Forget(map[string]bool{message: true})
			} else {
				u := s.Add(frozen.Unit{Key: fmt.Sprint(n), MessageKey: message})
				if u.Tag <= highest {
					t.Fatalf("tag %d after %d", u.Tag, highest)
				}
				highest = u.Tag
			}
			before := 0
			for _, u := range s.Units() {
				if u.Tag <= before || s.ByTag(u.Tag).Key != u.Key || s.ByKey(u.Key).Tag != u.Tag {
					t.Fatalf("unit %+v of %+v", u, s.Units())
				}
				before = u.Tag
			}
		}
	})
}
