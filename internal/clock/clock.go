package clock

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Clock tells the time.
type Clock interface {
	// Now returns the current time in Unix milliseconds, the unit of every
	// time in the protocol and the store.
	Now() int64
}

// System is the machine's clock.
type System struct{}

// Now implements Clock.
func (System) Now() int64 { return time.Now().UnixMilli() }

// A Shifted clock is the machine's clock plus the milliseconds that a file holds: "600000" puts it ten minutes forward.
// If a test of the built program cannot wait for a cache to expire, it uses this clock, and may only move it forward.
// If the file cannot be read, the shift is 0.
type Shifted struct{ Path string }

// Now implements Clock.
func (s Shifted) Now() int64 {
	now := System{}.Now()
	text, err := os.ReadFile(s.Path)
	if err != nil {
		return now
	}
	offset, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return now
	}
	return now + offset
}

// A Manual clock stands still until it is set. It is safe for concurrent use.
type Manual struct{ ms atomic.Int64 }

// NewManual returns a clock that stands at ms.
func NewManual(ms int64) *Manual {
	m := &Manual{}
	m.Set(ms)
	return m
}

// Now implements Clock.
func (m *Manual) Now() int64 { return m.ms.Load() }

// Set moves the clock to ms.
func (m *Manual) Set(ms int64) { m.ms.Store(ms) }

// Advance moves the clock forward by d.
func (m *Manual) Advance(d time.Duration) { m.ms.Add(d.Milliseconds()) }
