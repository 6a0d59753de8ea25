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

// Holds reports whether the message with an ordinal is in the range.
func (r Range) Holds(ordinal int) bool { return r.Start <= ordinal && ordinal <= r.End }

// A Place is a message with its ordinal.
type Place struct {
	Ordinal int
	// Key is the harness's id of the message. It is empty if the message's row in the harness's store cannot
	// be read. No summary can describe such a message, but a compartment covers its ordinal like any other.
	Key string
}
