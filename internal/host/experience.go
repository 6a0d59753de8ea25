package host

import (
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

// An experience caches what was learned about the models of this process, as the store has
// it. This host is the only writer.
type experience[T comparable] struct {
	// learning keeps changes in order while they are written. It is separate from mu, so
	// that a status never waits for a write.
	learning sync.Mutex
	// mu guards known.
	mu    sync.Mutex
	known map[schema.Model]T
}

// of returns what is known about a model. read reads it from the store. If that fails, of
// returns what read returned, and the next call reads again.
func (e *experience[T]) of(m schema.Model, read func() (T, error)) (T, error) {
	e.mu.Lock()
	known, ok := e.known[m]
	e.mu.Unlock()
	if ok {
		return known, nil
	}
	stored, err := read()
	if err != nil {
		return stored, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if newer, ok := e.known[m]; ok {
		return newer, nil // another call learned it while we read
	}
	e.set(m, stored)
	return stored, nil
}

// change replaces what is known about a model by what next makes of it, and stores it. The
// change takes effect at once, even if the store fails to take it. If nothing changes,
// store is not called.
func (e *experience[T]) change(m schema.Model, known func() T, next func(T) T, store func(before, after T) error) error {
	e.learning.Lock()
	defer e.learning.Unlock()
	before := known()
	after := next(before)
	if after == before {
		return nil
	}
	e.mu.Lock()
	e.set(m, after)
	e.mu.Unlock()
	return store(before, after)
}

// set needs mu.
func (e *experience[T]) set(m schema.Model, v T) {
	if e.known == nil {
		e.known = make(map[schema.Model]T)
	}
	e.known[m] = v
}
