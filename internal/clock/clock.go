// Package clock is the one source of time, so that replay and tests can bring
// their own.
//
// It may import nothing of this module.
package clock

import (
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
