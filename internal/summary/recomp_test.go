package summary

import (
	"errors"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store"
)

// The vectors are those of the reference: compartments of 1-10, 11-20 and 21-30.
func TestPartialRecompTakesWholeCompartments(t *testing.T) {
	var rows []store.CompartmentRow
	for n := 1; n < 30; n += 10 {
		rows = append(rows, store.CompartmentRow{Start: n, End: n + 9})
	}
	for _, test := range []struct{ part, want history.Range }{
		{history.Range{Start: 12, End: 15}, history.Range{Start: 11, End: 20}},
		{history.Range{Start: 5, End: 25}, history.Range{Start: 1, End: 30}},
		{history.Range{Start: 25, End: 99}, history.Range{Start: 21, End: 30}},
		{history.Range{Start: 10, End: 11}, history.Range{Start: 1, End: 20}},
		{history.Range{}, history.Range{Start: 1, End: 30}},
	} {
		if got, err := enclosing(rows, test.part); got != test.want || err != nil {
			t.Errorf("%v: %v, %v, want %v", test.part, got, err, test.want)
		}
	}
	for _, part := range []history.Range{{Start: 31, End: 40}, {}} {
		if part.End == 0 {
			rows = nil
		}
		if _, err := enclosing(rows, part); !errors.As(err, new(refusedCommand)) {
			t.Errorf("%v: %v, want a refusal", part, err)
		}
	}
}
