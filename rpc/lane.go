package rpc

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

type laneKey struct {
	harness schema.Harness
	session string
}

// lanes runs the calls of each session one after another. If a call misses its deadline, the client gets an answer at
// once, but the next call waits until the handler has returned. Otherwise, the next call could see half of the
// handler's work.
type lanes struct {
	// mu guards waiting.
	mu      sync.Mutex
	waiting map[laneKey][]*call // a key is in the map while its lane's goroutine runs

	running chan struct{} // one token for each running call
}

const (
	// maxLaneCalls limits the waiting calls of a session. The limit is high because a harness may send a burst of
	// events.
	maxLaneCalls = 1024
	// maxRunning limits the calls that run at the same time. A call that waits for its harness does not count. 64 are
	// enough, because a pass needs a processor only for milliseconds.
	maxRunning = 64
	// maxRunningOfClient limits the calls of one client, including calls that wait for their harness.
	maxRunningOfClient = 32
)

func newLanes() *lanes {
	return &lanes{waiting: map[laneKey][]*call{}, running: make(chan struct{}, maxRunning)}
}

// submit queues a call, or refuses it if the lane is full. If the refused call is a request, the caller answers with
// the error. If it is a notification, the caller logs the error. submit never waits, because the next frame may be a
// $/cancelRequest. The memory of waiting calls is limited where the frames are read (see the type `memory`).
func (l *lanes) submit(key laneKey, c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, alive := l.waiting[key]
	if len(queue) >= maxLaneCalls {
		return refuse(schema.CodeBusy, "%d calls of this session are waiting", len(queue))
	}
	l.waiting[key] = append(queue, c)
	if alive {
		return nil
	}
	select {
	case c.conn.free <- key:
	default:
		go l.work(key, c.conn)
	}
	return nil
}

// maxFreeWorkers bounds how many workers of one connection wait for a lane.
const maxFreeWorkers = 4

// work runs the lane with this key, and then waits for another lane. Workers are reused because a new goroutine has to
// grow its stack during its first pass. Without the reuse, growing stacks took 5 % of the host's time (measured with
// perf).
func (l *lanes) work(key laneKey, c *conn) {
	for {
		l.run(key)
		if c.freeWorkers.Add(1) > maxFreeWorkers {
			c.freeWorkers.Add(-1)
			return
		}
		select {
		case key = <-c.free:
			c.freeWorkers.Add(-1)
		case <-c.ctx.Done():
			return
		}
	}
}

// run runs the calls of a lane until none is waiting.
func (l *lanes) run(key laneKey) {
	for c := l.next(key); c != nil; c = l.next(key) {
		l.runOne(c)
	}
}

// runOne waits until its connection may run one more call, and then until the host may. If the call's deadline passes
// while it waits, runOne runs the call all the same, because the call then returns at once.
func (l *lanes) runOne(c *call) {
	if acquire(c.ctx, c.conn.inLanes) {
		defer func() { <-c.conn.inLanes }()
	}
	p := &place{places: l.running, held: acquire(c.ctx, l.running)}
	defer p.leave()
	c.ctx = context.WithValue(c.ctx, placeKey{}, p)
	c.run()
}

func acquire(ctx context.Context, ch chan<- struct{}) bool {
	select {
	case ch <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// next returns the next call of the lane. If no call is waiting, it ends the lane and returns nil.
func (l *lanes) next(key laneKey) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[key]
	if len(queue) == 0 {
		delete(l.waiting, key)
		return nil
	}
	c := queue[0]
	queue[0] = nil
	// next keeps the key of an empty queue, because the key shows that the lane has a worker.
	l.waiting[key] = queue[1:]
	return c
}

// A place is one of the maxRunning tokens that let a call run.
type place struct {
	places chan struct{}

	mu      sync.Mutex
	held    bool
	waiting int // the number of questions to the harness without an answer
	left    bool
}

type placeKey struct{}

// After leave, the call cannot take its place again.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	p.free()
}

// The caller holds mu.
func (p *place) free() {
	if p.held {
		p.held = false
		<-p.places
	}
}

// whileWaiting calls `wait`, which waits for an answer of the harness. In the meantime, the call of ctx gives up its
// place, so that another call can run. Otherwise, a harness that does not answer could block the calls of all clients.
func whileWaiting(ctx context.Context, wait func() error) error {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.pause()
		defer p.resume(ctx)
	}
	return wait()
}

func (p *place) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.free()
}

// resume gives the call its place back. If the deadline of the call is over, the call continues without a place.
func (p *place) resume(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting == 0 && !p.left {
		p.held = acquire(ctx, p.places)
	}
}
