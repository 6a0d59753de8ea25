package background

import (
	"context"
	"sync"
)

type Work struct {
	running  sync.WaitGroup
	lifetime context.Context
	end      context.CancelFunc
}

func New() *Work {
	w := &Work{}
	w.lifetime, w.end = context.WithCancel(context.Background())
	return w
}

// Lifetime returns the context that ends when the host stops.
func (w *Work) Lifetime() context.Context { return w.lifetime }

// f must return soon after Lifetime has ended.
func (w *Work) Go(f func()) { w.running.Go(f) }

func (w *Work) Wait() { w.running.Wait() }

// Stop tells the work to end, and waits until it has ended or ctx ends.
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
