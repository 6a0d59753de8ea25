package rpc

import (
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

// A laneKey names a session.
type laneKey struct {
	harness schema.Harness
	session string
}

// lanes runs the calls of each session one after another. A call whose deadline
// has passed is answered at once but keeps its lane until it really returns:
// what follows in the session must not see it half done.
type lanes struct {
	mu      sync.Mutex
	waiting map[laneKey][]*call // present while the lane's goroutine lives
	bytes   int                 // payload of all waiting calls

	running chan struct{} // one token for each call that runs
}

const (
	// maxLaneCalls is how many calls may wait in one session. A harness asks for
	// one thing at a time; only its events come in bursts.
	maxLaneCalls = 1024
	// maxLaneBytes bounds the payload that waits in all lanes together.
	maxLaneBytes = 1 << 30
	// maxRunning bounds the sessions that work at the same time. A pass uses one
	// processor for milliseconds, but may wait for its harness in between.
	maxRunning = 64
)

func newLanes() *lanes {
	return &lanes{waiting: map[laneKey][]*call{}, running: make(chan struct{}, maxRunning)}
}

// submit queues c in the lane of its session. When the lane or all lanes
// together are full it refuses: a request is answered so, and a notification
// dropped and logged by the caller. The reader never waits, because the next
// frame may be a cancel.
func (l *lanes) submit(key laneKey, c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, alive := l.waiting[key]
	if len(queue) >= maxLaneCalls {
		return refuse(schema.CodeBusy, "%d calls of this session are waiting", len(queue))
	}
	if l.bytes+c.bytes > maxLaneBytes && l.bytes > 0 {
		return refuse(schema.CodeBusy, "calls with %d bytes are waiting", l.bytes)
	}
	l.waiting[key] = append(queue, c)
	l.bytes += c.bytes
	if !alive {
		go l.run(key) // ends with its last call, which its connection waits for
	}
	return nil
}

func (l *lanes) run(key laneKey) {
	for c := l.next(key); c != nil; c = l.next(key) {
		l.running <- struct{}{}
		c.run()
		<-l.running
	}
}

// next takes the lane's next call, or ends the lane.
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
	// Not nil even when empty: the key stays for as long as this goroutine does.
	l.waiting[key] = queue[1:]
	l.bytes -= c.bytes
	return c
}
