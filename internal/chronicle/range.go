package chronicle

import "fmt"

// A Range is a contiguous range of ordinals, both ends included.
type Range struct{ Start, End int }

func (r Range) String() string {
	if r.Start == r.End {
		return fmt.Sprint(r.Start)
	}
	return fmt.Sprintf("%d-%d", r.Start, r.End)
}

func (r Range) Holds(ordinal int) bool { return r.Start <= ordinal && ordinal <= r.End }

type Place struct {
	Ordinal int
	// Key is the harness's id of the message. If the harness's row of the message is unreadable, Key is empty: no
	// summary describes the message, but a compartment covers its ordinal.
	Key string
}
