package clock

import "sync/atomic"

// A Serial never gives out a number twice, even after a restart, as long as a process needs fewer than a million
// numbers a second.
type Serial struct{ last atomic.Uint64 }

// NewSerial returns a serial that begins at the time of a clock, in microseconds since 1970. Such numbers stay
// below 2^53, which JavaScript can represent exactly.
func NewSerial(c Clock) *Serial {
	s := &Serial{}
	s.last.Store(uint64(c.Now()) * 1000)
	return s
}

func (s *Serial) Next() uint64 { return s.last.Add(1) }
