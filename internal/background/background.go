package background

import (
	"context"
	"sync"
)

// Work is the work that a host does in the background, for example the runs of the historian.
type Work struct {
	running  sync.WaitGroup
	lifetime context.Context
	end      context.CancelFunc
}

// New returns a Work that has nothing to do yet.
func New() *Work {
	w := &Work{}
	w.lifetime, w.end = context.WithCancel(context.Background())
	return w
}

// Lifetime returns the context that ends when the host stops.
func (w *Work) Lifetime() context.Context { return w.lifetime }

// Go runs f in the background. f must return soon after Lifetime has ended.
func (w *Work) Go(f func()) { w.running.Go(f) }

// Wait waits until no work is left.
func (w *Work) Wait() { w.running.Wait() }

// Stop ends the work, and waits for it until ctx ends.
func (w *Work) Stop(ctx context.Context) {
	w.end()
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
