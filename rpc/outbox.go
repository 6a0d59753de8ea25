package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// An outbox is the only writer of a connection. The method `put` never waits: a client that stops reading must not
// block a lane, because other connections share the lane. It must not block the reader goroutine either, because
// that goroutine receives cancellations.
type outbox struct {
	w    io.Writer
	fail func(error)   // called once, when a write has failed
	all  *atomic.Int64 // the bytes in the outboxes of all connections; nil means that nobody counts them

	// mu guards `queue`, `queued`, `closed` and `err`. `changed` is a condition variable on mu.
	mu      sync.Mutex
	changed sync.Cond // queue, queued, closed or err changed
	queue   net.Buffers
	queued  int // bytes in queue and in the write in progress
	closed  bool
	err     error
}

// If more bytes than this are queued, the next put fails. Otherwise, put accepts a message of any size.
const maxOutboxBytes = 64 << 20

const (
	// The outboxes of all clients together should not have more than maxUnread bytes. Above this size, put fails for
	// each client that has more than fairUnread bytes, so that one client does not use up the memory of all.
	maxUnread  = 512 << 20
	fairUnread = 1 << 20
)

var errPeerStalled = errors.New("the other end does not read")

// The caller must start the method `run` on a goroutine.
func newOutbox(w io.Writer, fail func(error)) *outbox {
	o := &outbox{w: w, fail: fail}
	o.changed.L = &o.mu
	return o
}

// put queues the parts in order. After put, the caller must not change them.
func (o *outbox) put(parts ...[]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return net.ErrClosed
	case o.queued > maxOutboxBytes:
		return fmt.Errorf("%w: %d bytes wait", errPeerStalled, o.queued)
	case o.queued > fairUnread && o.all != nil && o.all.Load() > maxUnread:
		return fmt.Errorf("%w: %d bytes wait, and %d for all clients", errPeerStalled, o.queued, o.all.Load())
	}
	for _, p := range parts {
		if len(p) > 0 {
			o.queue = append(o.queue, p)
			o.count(len(p))
		}
	}
	o.changed.Broadcast()
	return nil
}

// The caller holds mu.
func (o *outbox) count(n int) {
	o.queued += n
	if o.all != nil {
		o.all.Add(int64(n))
	}
}

func (o *outbox) backlog() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued
}

func (o *outbox) run() {
	for {
		batch := o.take()
		if batch == nil {
			return
		}
		n, err := batch.WriteTo(o.w)
		o.mu.Lock()
		o.count(-int(n))
		if err != nil && o.err == nil {
			o.err = fmt.Errorf("write: %w", err)
		}
		o.changed.Broadcast()
		o.mu.Unlock()
		if err != nil {
			o.fail(err)
			return
		}
	}
}

func (o *outbox) take() net.Buffers {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.changed.Wait()
	}
	if o.closed {
		return nil
	}
	batch := o.queue
	o.queue = nil
	return batch
}

// flush waits until everything that is queued now has been written, or until ctx ends.
func (o *outbox) flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queued > 0 && o.err == nil && !o.closed && ctx.Err() == nil {
		o.changed.Wait()
	}
	if o.queued == 0 {
		return nil
	}
	return errors.Join(o.err, ctx.Err())
}

// close discards everything that is not yet written. A write in progress ends when w is closed.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if o.all != nil {
		o.all.Add(-int64(o.queued))
		o.all = nil // a write in progress still reduces queued later
	}
	o.changed.Broadcast()
}
