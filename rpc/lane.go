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

// lanes runs the calls of each session one after another. A call that misses its deadline is answered at once, but
// keeps its lane until its handler returns, because the next call must not see half of its work.
type lanes struct {
	// mu guards waiting and bytes.
	mu      sync.Mutex
	waiting map[laneKey][]*call // a key is in the map while its lane's goroutine runs

	running chan struct{} // one token for each running call
}

const (
	// maxLaneCalls bounds the waiting calls of a session. Only the events of a harness arrive in bursts.
	maxLaneCalls = 1024
	// maxRunning bounds how many sessions work at the same time. A pass uses a processor for milliseconds, and gives
	// its place away while it waits for its harness.
	maxRunning = 64
	// maxRunningOfClient also counts sessions that wait for their harness.
	maxRunningOfClient = 32
)

func newLanes() *lanes {
	return &lanes{waiting: map[laneKey][]*call{}, running: make(chan struct{}, maxRunning)}
}

// submit refuses a call if the lane is full. The caller answers a request with the refusal, and drops and logs a
// notification. Memory is bounded where frames are read, see memory. The reader never waits for a lane, because the
// next frame may be a $/cancelRequest.
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

// work is a worker of a connection. It runs lanes, first the lane of key. A new goroutine would grow its stack in each
// pass, and perf shows that this takes 5 % of the host's time.
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

// run runs the calls of a lane until none waits. The connection of each call waits for its end.
func (l *lanes) run(key laneKey) {
	for c := l.next(key); c != nil; c = l.next(key) {
		l.runOne(c)
	}
}

// A call whose time is over needs no place, because it only has to return.
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

// Without a waiting call, next ends the lane and returns nil.
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
	// The key of an empty slice shows that the lane's goroutine runs.
	l.waiting[key] = queue[1:]
	return c
}

// A place is the right of a call to work. There are maxRunning places.
type place struct {
	places chan struct{}

	mu      sync.Mutex
	held    bool
	waiting int // the number of questions to the harness without an answer
	left    bool
}

type placeKey struct{}

// The call cannot take its place again.
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

// While wait waits for the harness, another call may use the place of ctx's call. Otherwise a harness that does not
// answer would take the places of all clients.
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

// A call whose time is over goes on without a place.
func (p *place) resume(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting == 0 && !p.left {
		p.held = acquire(ctx, p.places)
	}
}
