package embedding

import (
	"errors"
	"sync"
	"time"
)

// After several failures, no request is sent for some minutes.
var ErrOpen = errors.New("the embedding service has failed several times, and is asked again in some minutes")

// If maxFailures requests fail within failureSpan, the breaker blocks all requests for openSpan. Then it lets one
// request through as a trial.
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

type breaker struct {
	mu       sync.Mutex
	failures []time.Time
	// After too many failures, the breaker lets no request through before the time `until`. While the service works,
	// `until` is zero.
	until   time.Time
	isTried bool
}

// enter asks for permission to send a request. If none may be sent now, it returns ErrOpen. Otherwise, it returns a
// function that the caller must call with the outcome of the request.
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
