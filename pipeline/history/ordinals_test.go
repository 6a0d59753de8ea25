package history

import (
	"fmt"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	e := func(keys ...string) (all []Entry) {
		for _, k := range keys {
			all = append(all, Entry{Key: k, IsSummary: k == "sum", IsOutside: k == "out"})
		}
		return all
	}
	a := func(pairs ...any) (all []chronicle.Place) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, chronicle.Place{Ordinal: pairs[i].(int), Key: pairs[i+1].(string)})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		entries []Entry
		anchors []chronicle.Place
		want    []int
	}{
		{"no anchor", e("a", "b"), nil, []int{1, 2}},
		{"a summary has no ordinal, an unreadable message has one", e("a", "sum", "", "b"), nil, []int{1, 0, 2, 3}},
		{"a message outside the conversation has none", e("a", "out", "b"), a(1, "a"), []int{1, 0, 2}},
		{"an anchor that agrees", e("a", "b", "c"), a(1, "a", 2, "b"), []int{1, 2, 3}},
		{"counts back from an anchor", e("b", "c", "d"), a(3, "c"), []int{2, 3, 4}},
		{"nothing comes before message 1", e("x", "sum", "a", "b"), a(1, "a"), []int{0, 0, 1, 2}},
		{"a deleted message leaves a gap", e("a", "c", "d"), a(1, "a", 3, "c"), []int{1, 3, 4}},
		{"an inserted message has no ordinal", e("a", "new", "b"), a(1, "a", 2, "b"), []int{1, 0, 2}},
		{"an unknown anchor", e("a", "b"), a(7, "gone"), []int{1, 2}},
		{"an anchor that contradicts the one before", e("a", "b", "c"), a(1, "b", 2, "a"), []int{0, 1, 2}},
		{"an empty session", nil, a(1, "a"), []int{}},
	} {
		if got := Number(c.entries, c.anchors); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An anchor is a message whose ordinal is known. An anchor with the ordinal that Number would compute anyway must not
// change the result. If messages are deleted, every message from the next anchor on must keep its ordinal.
func TestNumberKeepsOrdinals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "messages")
		var entries []Entry
		for i := range n {
			entries = append(entries, Entry{Key: fmt.Sprint("k", i), IsSummary: rapid.IntRange(0, 4).Draw(t, "summary") == 0})
		}
		plain := Number(entries, nil)
		var anchors []chronicle.Place
		for i, ordinal := range plain {
			if ordinal > 0 && rapid.Bool().Draw(t, "anchor") {
				anchors = append(anchors, chronicle.Place{Ordinal: ordinal, Key: entries[i].Key})
			}
		}
		if got := Number(entries, anchors); !slices.Equal(got, plain) {
			t.Fatalf("%v with anchors, %v without", got, plain)
		}

		var left []Entry
		want := map[string]int{}
		anchored := len(anchors) == 0
		for i, e := range entries {
			switch {
			case rapid.IntRange(0, 3).Draw(t, "deleted") == 0:
				anchored = false
				continue
			case slices.ContainsFunc(anchors, func(a chronicle.Place) bool { return a.Key == e.Key }):
				anchored = true
			}
			left = append(left, e)
			if anchored {
				want[e.Key] = plain[i]
			}
		}
		last := 0
		for i, got := range Number(left, anchors) {
			if got > 0 && got <= last {
				t.Fatalf("ordinal %d after %d", got, last)
			}
			last = max(last, got)
			if ordinal, ok := want[left[i].Key]; ok && got != ordinal {
				t.Fatalf("%s has ordinal %d, want %d", left[i].Key, got, ordinal)
			}
		}
	})
}

func TestArrayIsAnchored(t *testing.T) {
	whole, cut := []Entry{{Key: "a"}, {Key: "b"}}, []Entry{{Key: "s", IsSummary: true}, {Key: "c"}}
	for _, c := range []struct {
		name    string
		array   []Entry
		anchors []chronicle.Place
		want    bool
	}{
		{"a session without summaries", whole, nil, true},
		{"the array holds an anchor", whole, []chronicle.Place{{Ordinal: 2, Key: "b"}}, true},
		{"the array holds no anchor", whole, []chronicle.Place{{Ordinal: 9, Key: "gone"}}, false},
		{"a compaction hides the anchors", cut, []chronicle.Place{{Ordinal: 9, Key: "gone"}}, false},
		{"a compaction hides the beginning", cut, nil, false},
		{"a compaction keeps an anchor", cut, []chronicle.Place{{Ordinal: 3, Key: "c"}}, true},
	} {
		if got := IsAnchored(c.array, c.anchors); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
