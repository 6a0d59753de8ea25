package rawhistory_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

func TestNumber(t *testing.T) {
	e := func(keys ...string) (all []rawhistory.Entry) {
		for _, k := range keys {
			all = append(all, rawhistory.Entry{Key: k, IsSummary: k == "sum"})
		}
		return all
	}
	a := func(pairs ...any) (all []rawhistory.Anchor) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, rawhistory.Anchor{Ordinal: pairs[i].(int), Key: pairs[i+1].(string)})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		entries []rawhistory.Entry
		anchors []rawhistory.Anchor
		want    []int
	}{
		{"no anchor", e("a", "b"), nil, []int{1, 2}},
		{"a summary has no ordinal, an unreadable message has one", e("a", "sum", "", "b"), nil, []int{1, 0, 2, 3}},
		{"an anchor that agrees", e("a", "b", "c"), a(1, "a", 2, "b"), []int{1, 2, 3}},
		{"counts back from an anchor", e("b", "c", "d"), a(3, "c"), []int{2, 3, 4}},
		{"nothing comes before message 1", e("x", "sum", "a", "b"), a(1, "a"), []int{0, 0, 1, 2}},
		{"a deleted message leaves a gap", e("a", "c", "d"), a(1, "a", 3, "c"), []int{1, 3, 4}},
		{"an inserted message has no ordinal", e("a", "new", "b"), a(1, "a", 2, "b"), []int{1, 0, 2}},
		{"an unknown anchor", e("a", "b"), a(7, "gone"), []int{1, 2}},
		{"an anchor that contradicts the one before", e("a", "b", "c"), a(1, "b", 2, "a"), []int{0, 1, 2}},
		{"an empty session", nil, a(1, "a"), []int{}},
	} {
		if got := rawhistory.Number(c.entries, c.anchors); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Ordinals rise. If the anchors agree with the plain count, they change nothing. After some messages were
// deleted, a message that follows an anchor without a deletion in between keeps the ordinal of the plain
// count, if it still has one.
func TestNumberKeepsOrdinals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "messages")
		var entries []rawhistory.Entry
		for i := range n {
			entries = append(entries, rawhistory.Entry{Key: fmt.Sprint("k", i), IsSummary: rapid.IntRange(0, 4).Draw(t, "summary") == 0})
		}
		plain := rawhistory.Number(entries, nil)
		var anchors []rawhistory.Anchor
		for i, ordinal := range plain {
			if ordinal > 0 && rapid.Bool().Draw(t, "anchor") {
				anchors = append(anchors, rawhistory.Anchor{Ordinal: ordinal, Key: entries[i].Key})
			}
		}
		if got := rawhistory.Number(entries, anchors); !slices.Equal(got, plain) {
			t.Fatalf("%v with anchors, %v without", got, plain)
		}

		var left []rawhistory.Entry
		want := map[string]int{}
		anchored := len(anchors) == 0
		for i, e := range entries {
			switch {
			case rapid.IntRange(0, 3).Draw(t, "deleted") == 0:
				anchored = false
				continue
			case slices.ContainsFunc(anchors, func(a rawhistory.Anchor) bool { return a.Key == e.Key }):
				anchored = true
			}
			left = append(left, e)
			if anchored {
				want[e.Key] = plain[i]
			}
		}
		last := 0
		for i, got := range rawhistory.Number(left, anchors) {
			if got > 0 && got <= last {
				t.Fatalf("ordinal %d behind %d", got, last)
			}
			last = max(last, got)
			if ordinal, ok := want[left[i].Key]; ok && got != ordinal {
				t.Fatalf("%s has ordinal %d, want %d", left[i].Key, got, ordinal)
			}
		}
	})
}

// Behind the last compartment, the trigger has its own count of the array's messages. Both counts must give
// the same ordinals.
func TestNumberAgreesWithTheTrigger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "messages")
		var entries []rawhistory.Entry
		var array []history.Entry
		for i := range n {
			e := rawhistory.Entry{Key: fmt.Sprint("k", i), IsSummary: rapid.IntRange(0, 4).Draw(t, "summary") == 0}
			if rapid.IntRange(0, 4).Draw(t, "unreadable") == 0 {
				e.Key = ""
			}
			entries, array = append(entries, e), append(array, history.Entry{Key: e.Key, IsSummary: e.IsSummary})
		}
		plain := rawhistory.Number(entries, nil)
		at := rapid.IntRange(0, n-1).Draw(t, "anchor")
		anchor, anchors := history.CoveredEnd{}, []rawhistory.Anchor(nil)
		if plain[at] > 0 && entries[at].Key != "" {
			anchor = history.CoveredEnd{Ordinal: plain[at], Key: entries[at].Key}
			anchors = []rawhistory.Anchor{{Ordinal: plain[at], Key: entries[at].Key}}
		} else {
			at = 0
		}
		want, _, ok := history.Number(array, anchor)
		if !ok {
			t.Fatal("the trigger does not find its anchor")
		}
		for i, got := range rawhistory.Number(entries, anchors)[at:] {
			if entries[at+i].Key != "" && got != want[at+i] {
				t.Fatalf("entry %d has ordinal %d, for the trigger %d", at+i, got, want[at+i])
			}
		}
	})
}
