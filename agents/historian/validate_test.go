package historian

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"pgregory.net/rapid"
)

// Message n has the key "mn".
func chunkOf(start, end int, toolOnly ...chronicle.Range) Chunk {
	c := Chunk{Range: chronicle.Range{Start: start, End: end}, ToolOnly: toolOnly}
	for n := start; n <= end; n++ {
		c.Lines = append(c.Lines, chronicle.Place{Ordinal: n, Key: fmt.Sprint("m", n)})
	}
	return c
}

func draftOf(unprocessed int, ranges ...chronicle.Range) Draft {
	d := Draft{UnprocessedFrom: unprocessed}
	for _, r := range ranges {
		d.Compartments = append(d.Compartments, chronicle.Compartment{Start: r.Start, End: r.End, Title: "t", Tiers: [4]string{"x", "x", "x", ""}})
	}
	return d
}

// The table contains the test vectors of a reference implementation. We differ from it in two ways. First, the
// reference closes gaps of up to 15 messages between compartments, even if those messages contain words. We do not.
// Second, if unprocessed_from is after the end of the chunk, we require that the compartments cover all messages. The
// reference does not.
func TestValidateVectors(t *testing.T) {
	ten, forty := chunkOf(1, 10), chunkOf(1, 40)
	for _, test := range []struct {
		name   string
		draft  Draft
		chunk  Chunk
		ranges []chronicle.Range
		class  Class
	}{
		{"whole", draftOf(0, chronicle.Range{Start: 1, End: 5}, chronicle.Range{Start: 6, End: 10}), ten, []chronicle.Range{{Start: 1, End: 5}, {Start: 6, End: 10}}, ""},
		{"small gap with words (ours)", draftOf(0, chronicle.Range{Start: 1, End: 5}, chronicle.Range{Start: 8, End: 10}), ten, nil, Gap},
		{"small gap without words", draftOf(0, chronicle.Range{Start: 1, End: 5}, chronicle.Range{Start: 8, End: 10}), chunkOf(1, 10, chronicle.Range{Start: 5, End: 8}), []chronicle.Range{{Start: 1, End: 7}, {Start: 8, End: 10}}, ""},
		{"a rest left to the next run", draftOf(5, chronicle.Range{Start: 1, End: 4}), ten, []chronicle.Range{{Start: 1, End: 4}}, ""},
		{"a rest forgotten", draftOf(0, chronicle.Range{Start: 1, End: 4}), ten, nil, Uncovered},
		{"nothing left", draftOf(11, chronicle.Range{Start: 1, End: 10}), ten, []chronicle.Range{{Start: 1, End: 10}}, ""},
		{"nothing left, it says, but there is (ours)", draftOf(11, chronicle.Range{Start: 1, End: 4}), ten, nil, UnprocessedMismatch},
		{"covered and left", draftOf(10, chronicle.Range{Start: 1, End: 10}), ten, nil, UnprocessedMismatch},
		{"left elsewhere", draftOf(99, chronicle.Range{Start: 1, End: 4}), ten, nil, UnprocessedOutside},
		{"left too late", draftOf(7, chronicle.Range{Start: 1, End: 4}), ten, nil, UnprocessedMismatch},
		{"overlap", draftOf(0, chronicle.Range{Start: 1, End: 6}, chronicle.Range{Start: 5, End: 10}), ten, nil, Overlap},
		{"a beginning forgotten", draftOf(0, chronicle.Range{Start: 2, End: 10}), ten, nil, Gap},
		{"a beginning without words forgotten", draftOf(0, chronicle.Range{Start: 2, End: 10}), chunkOf(1, 10, chronicle.Range{Start: 1, End: 1}), nil, Gap},
		{"other messages", draftOf(0, chronicle.Range{Start: 1, End: 12}), ten, nil, NotInChunk},
		{"nothing", Draft{}, ten, nil, NoCompartments},
		{"inverted (ours)", draftOf(0, chronicle.Range{Start: 5, End: 3}), ten, nil, InvalidRange},
		{"inverted after another (ours)", draftOf(0, chronicle.Range{Start: 1, End: 4}, chronicle.Range{Start: 6, End: 5}), ten, nil, InvalidRange},
		{"gap of 15 with words (ours)", draftOf(0, chronicle.Range{Start: 1, End: 10}, chronicle.Range{Start: 26, End: 40}), forty, nil, Gap},
		{"gap of 16 with words", draftOf(0, chronicle.Range{Start: 1, End: 10}, chronicle.Range{Start: 27, End: 40}), forty, nil, Gap},
		{"long gap without words", draftOf(0, chronicle.Range{Start: 1, End: 10}, chronicle.Range{Start: 31, End: 40}), chunkOf(1, 40, chronicle.Range{Start: 11, End: 30}), []chronicle.Range{{Start: 1, End: 30}, {Start: 31, End: 40}}, ""},
		{"gap with words at its end", draftOf(0, chronicle.Range{Start: 1, End: 10}, chronicle.Range{Start: 31, End: 40}), chunkOf(1, 40, chronicle.Range{Start: 11, End: 29}), nil, Gap},
	} {
		got, err := Validate(test.draft, &test.chunk)
		var invalid *Invalid
		if errors.As(err, &invalid); (test.class == "") != (err == nil) || err != nil && invalid.Class != test.class {
			t.Errorf("%s: %v, want class %q", test.name, err, test.class)
			continue
		}
		if err != nil && strings.Contains(err.Error(), "compartment") {
			t.Errorf("%s: people read %q, and the word is not theirs", test.name, err)
		}
		var ranges []chronicle.Range
		for _, c := range got {
			ranges = append(ranges, c.Range())
			for i, key := range c.Keys {
				if key != fmt.Sprint("m", c.Start+i) || len(c.Keys) != c.End-c.Start+1 {
					t.Errorf("%s: keys of %v are %v", test.name, c.Range(), c.Keys)
				}
			}
		}
		if d := cmp.Diff(test.ranges, ranges); err == nil && d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
	}
}

// A compartment is extended over an unreadable message, so that the next run begins after the message.
func TestUnreadableMessagesAreCovered(t *testing.T) {
	unreadable := func(ordinals ...int) Chunk {
		chunk := chunkOf(1, 10)
		for _, n := range ordinals {
			chunk.Lines[n-1].Key = ""
		}
		return chunk
	}
	for _, test := range []struct {
		chunk  Chunk
		draft  Draft
		ranges []chronicle.Range
		keys   string
	}{
		{unreadable(5, 6), draftOf(0, chronicle.Range{Start: 1, End: 4}, chronicle.Range{Start: 7, End: 10}), []chronicle.Range{{Start: 1, End: 6}, {Start: 7, End: 10}}, "m1,m2,m3,m4,, m7,m8,m9,m10"},
		{unreadable(1), draftOf(0, chronicle.Range{Start: 2, End: 10}), []chronicle.Range{{Start: 1, End: 10}}, ",m2,m3,m4,m5,m6,m7,m8,m9,m10"},
		{unreadable(9, 10), draftOf(0, chronicle.Range{Start: 1, End: 8}), []chronicle.Range{{Start: 1, End: 10}}, "m1,m2,m3,m4,m5,m6,m7,m8,,"},
		{unreadable(9, 10), draftOf(9, chronicle.Range{Start: 1, End: 8}), []chronicle.Range{{Start: 1, End: 8}}, "m1,m2,m3,m4,m5,m6,m7,m8"},
		{unreadable(1, 10), draftOf(0, chronicle.Range{Start: 1, End: 10}), []chronicle.Range{{Start: 1, End: 10}}, ",m2,m3,m4,m5,m6,m7,m8,m9,"},
		{unreadable(1), draftOf(0, chronicle.Range{Start: 3, End: 10}), nil, ""},
		{unreadable(10), draftOf(0, chronicle.Range{Start: 1, End: 8}), nil, ""},
		{unreadable(5, 6), draftOf(0, chronicle.Range{Start: 1, End: 4}, chronicle.Range{Start: 5, End: 6}, chronicle.Range{Start: 7, End: 10}), nil, ""},
	} {
		if err := test.chunk.check(); err != nil {
			t.Error(err)
		}
		got, err := Validate(test.draft, &test.chunk)
		var ranges []chronicle.Range
		var keys []string
		for _, c := range got {
			ranges, keys = append(ranges, c.Range()), append(keys, strings.Join(c.Keys, ","))
		}
		if d := cmp.Diff(test.ranges, ranges); d != "" || strings.Join(keys, " ") != test.keys {
			t.Errorf("%+v: %v, keys %v, %v", test.draft.Compartments, ranges, keys, err)
		}
	}
	if chunk := unreadable(1, 2, 3, 4, 5, 6, 7, 8, 9, 10); chunk.check() == nil {
		t.Error("a chunk that nobody can read was taken")
	}
}

// Validate does not change the draft.
func TestValidCompartmentsAreContiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.IntRange(1, 50).Draw(t, "start")
		chunk := chunkOf(start, start+rapid.IntRange(0, 30).Draw(t, "length"))
		for range rapid.IntRange(0, 3).Draw(t, "quiet ranges") {
			from := rapid.IntRange(chunk.Start, chunk.End).Draw(t, "quiet from")
			chunk.ToolOnly = append(chunk.ToolOnly, chronicle.Range{Start: from, End: rapid.IntRange(from, chunk.End).Draw(t, "quiet to")})
		}
		var d Draft
		next := chunk.Start
		for next <= chunk.End && rapid.IntRange(0, 9).Draw(t, "stop") > 0 {
			next += rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3, -1}).Draw(t, "shift")
			end := next + rapid.IntRange(0, 8).Draw(t, "span")
			if rapid.Bool().Draw(t, "clip") {
				end = min(end, chunk.End)
			}
			d.Compartments = append(d.Compartments, chronicle.Compartment{Start: next, End: end, Title: "t", Tiers: [4]string{"x"}})
			next = end + 1
		}
		if rapid.Bool().Draw(t, "leaves") {
			d.UnprocessedFrom = next
		}
		before := slices.Clone(d.Compartments)
		got, err := Validate(d, &chunk)
		if cmp.Diff(before, d.Compartments) != "" {
			t.Fatal("the draft has changed")
		}
		if err != nil {
			return
		}
		expected := chunk.Start
		for _, c := range got {
			if c.Start != expected || c.End < c.Start || c.End > chunk.End {
				t.Fatalf("%v, expected one from %d on", c.Range(), expected)
			}
			expected = c.End + 1
		}
		if expected <= chunk.End && d.UnprocessedFrom != expected {
			t.Fatalf("%d is lost", expected)
		}
	})
}

func TestSummaryIsShorterThanItsSource(t *testing.T) {
	chunk := chunkOf(1, 10)
	d := draftOf(0, chronicle.Range{Start: 1, End: 10})
	d.Compartments[0].Tiers[0] = string(make([]byte, summarySlack+1))
	var invalid *Invalid
	if _, err := Validate(d, &chunk); !errors.As(err, &invalid) || invalid.Class != TooLong {
		t.Errorf("%v", err)
	}
	chunk.Text = "x"
	if _, err := Validate(d, &chunk); err != nil {
		t.Error(err)
	}
}

// None of the four tiers may be longer than the messages. If the head showed such a tier, it would push all older
// compartments out of the head.
func TestNoTierIsLongerThanItsMessages(t *testing.T) {
	chunk := chunkOf(1, 10)
	for tier := range 4 {
		d := draftOf(0, chronicle.Range{Start: 1, End: 10})
		d.Compartments[0].Tiers[tier] = strings.Repeat("x", summarySlack+1)
		var invalid *Invalid
		if _, err := Validate(d, &chunk); !errors.As(err, &invalid) || invalid.Class != TooLong {
			t.Errorf("tier %d: %v", tier+1, err)
		}
	}
}

func TestDiscardLast(t *testing.T) {
	chunk := chunkOf(1, 10)
	for _, test := range []struct {
		ranges []chronicle.Range
		keeps  int
	}{
		{[]chronicle.Range{{Start: 1, End: 10}}, 1},
		{[]chronicle.Range{{Start: 1, End: 6}, {Start: 7, End: 10}}, 1},
		{[]chronicle.Range{{Start: 1, End: 6}, {Start: 7, End: 8}}, 1},
		{[]chronicle.Range{{Start: 1, End: 6}, {Start: 7, End: 7}}, 2},
		{[]chronicle.Range{{Start: 1, End: 2}, {Start: 3, End: 6}, {Start: 7, End: 9}}, 2},
	} {
		kept, discarded := discardLast(draftOf(0, test.ranges...).Compartments, &chunk)
		if len(kept) != test.keeps || discarded != (test.keeps < len(test.ranges)) {
			t.Errorf("%v: kept %d, discarded %t", test.ranges, len(kept), discarded)
		}
	}
}
