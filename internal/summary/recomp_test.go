package summary

import (
	"errors"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// The compartments are 1-10, 11-20 and 21-30. The TypeScript plugin has the same test cases.
func TestPartialRecompTakesWholeCompartments(t *testing.T) {
	var rows []chronicle.Compartment
	for n := 1; n < 30; n += 10 {
		rows = append(rows, chronicle.Compartment{Start: n, End: n + 9})
	}
	for _, test := range []struct{ part, want chronicle.Range }{
		{chronicle.Range{Start: 12, End: 15}, chronicle.Range{Start: 11, End: 20}},
		{chronicle.Range{Start: 5, End: 25}, chronicle.Range{Start: 1, End: 30}},
		{chronicle.Range{Start: 25, End: 99}, chronicle.Range{Start: 21, End: 30}},
		{chronicle.Range{Start: 10, End: 11}, chronicle.Range{Start: 1, End: 20}},
		{chronicle.Range{}, chronicle.Range{Start: 1, End: 30}},
	} {
		if got, err := enclosing(rows, test.part); got != test.want || err != nil {
			t.Errorf("%v: %v, %v, want %v", test.part, got, err, test.want)
		}
	}
	for _, part := range []chronicle.Range{{Start: 31, End: 40}, {}} {
		if part.End == 0 {
			rows = nil
		}
		if _, err := enclosing(rows, part); !errors.As(err, new(refusedCommand)) {
			t.Errorf("%v: %v, want a refusal", part, err)
		}
	}
}
