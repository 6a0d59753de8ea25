package embedding

import (
	"errors"
	"sync"
	"time"
)

// ErrOpen means that the service has failed several times. For some minutes, no request is sent.
var ErrOpen = errors.New("the embedding service has failed several times, and is asked again in some minutes")

// After maxFailures within failureSpan, no request is sent for openSpan. Then one request tries the service.
const (
	maxFailures = 3
	failureSpan = time.Minute
	openSpan    = 5 * time.Minute
)

type outcome int

const (
	succeeded outcome = iota
	failed
	aborted
)

// A breaker stops all requests to a failing service for some time.
type breaker struct {
	mu       sync.Mutex
	failures []time.Time
	// until is the end of the time without requests. It is zero as long as the service works.
	until   time.Time
	isTried bool
}

// enter returns a function that the caller must call with the outcome of its request. While no request may be sent,
// enter returns ErrOpen.
func (b *breaker) enter() (leave func(outcome), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	isTrial := !b.until.IsZero()
	if isTrial && (b.isTried || time.Now().Before(b.until)) {
		return nil, ErrOpen
	}
	b.isTried = isTrial
	return func(o outcome) { b.leave(isTrial, o) }, nil
}

func (b *breaker) leave(isTrial bool, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if isTrial {
		b.isTried = false
	}
	switch {
	case o == succeeded:
		b.failures, b.until = nil, time.Time{}
	case o == failed:
		for len(b.failures) > 0 && now.Sub(b.failures[0]) > failureSpan {
			b.failures = b.failures[1:]
		}
		if b.failures = append(b.failures, now); isTrial || len(b.failures) >= maxFailures {
			b.failures, b.until = nil, now.Add(openSpan)
		}
	}
}
