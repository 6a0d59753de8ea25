package clock

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

type Clock interface {
	// Now returns the time in Unix milliseconds.
	Now() int64
}

type System struct{}

func (System) Now() int64 { return time.Now().UnixMilli() }

// A Shifted clock adds the milliseconds in a file to the machine's clock. Tests of the built program use it when they
// cannot wait for a cache to expire.
type Shifted struct{ Path string }

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

// A Manual clock stands still until it is set, and is safe for concurrent use.
type Manual struct{ ms atomic.Int64 }

func NewManual(ms int64) *Manual {
	m := &Manual{}
	m.Set(ms)
	return m
}

func (m *Manual) Now() int64 { return m.ms.Load() }

func (m *Manual) Set(ms int64) { m.ms.Store(ms) }

func (m *Manual) Advance(d time.Duration) { m.ms.Add(d.Milliseconds()) }
