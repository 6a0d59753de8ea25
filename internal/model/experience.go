package model

import (
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

// An experience caches what the host has learned about models, for example their token ratios. This host is the only
// writer of the store, so no other process makes the cache stale.
type experience[T comparable] struct {
	// A goroutine that changes a fact holds `learning` until the fact is stored, so facts are stored in the order in
	// which they change. mu is a separate lock, so that a status does not wait for a write.
	learning sync.Mutex
	mu       sync.Mutex
	known    map[schema.Model]T
}

// The method `of` returns the facts about a model. If the cache has none, it calls `read`, and caches the result unless
// `read` fails.
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

// change calls `next` to compute new facts about a model from the known ones, and calls `store` to store them. The
// cache gets the new facts even if `store` fails. If the facts stay the same, change does not call `store`.
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

// The caller of `set` holds mu.
func (e *experience[T]) set(m schema.Model, v T) {
	if e.known == nil {
		e.known = make(map[schema.Model]T)
	}
	e.known[m] = v
}
