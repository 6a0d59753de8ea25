package clock

import "sync/atomic"

// A Serial gives out numbers, each greater than the one before. It begins at the current time in microseconds. So even
// after a restart, it never gives out a number twice, as long as a process needs fewer than a million numbers a second.
type Serial struct{ last atomic.Uint64 }

// NewSerial returns a Serial that begins at the time of c, in microseconds since 1970. Such numbers stay below 2^53, so
// JavaScript can represent them exactly.
func NewSerial(c Clock) *Serial {
	s := &Serial{}
	s.last.Store(uint64(c.Now()) * 1000)
	return s
}

func (s *Serial) Next() uint64 { return s.last.Add(1) }
