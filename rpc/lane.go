package rpc

import (
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

// A laneKey identifies a session.
type laneKey struct {
	harness schema.Harness
	session string
}

// lanes runs the calls of each session one after another. A call that misses
// its deadline is answered at once, but keeps its lane until its handler
// returns. The next call of the session must not see half of its work.
type lanes struct {
	// mu guards waiting and bytes.
	mu      sync.Mutex
	waiting map[laneKey][]*call // a key is present while its lane's goroutine lives
	bytes   int                 // size of all waiting calls

	running chan struct{} // one token for each running call
}

const (
	// maxLaneCalls bounds how many calls may wait in one session. A harness
	// makes one request at a time; only its events arrive in bursts.
	maxLaneCalls = 1024
	// maxLaneBytes bounds the size of all waiting calls together.
	maxLaneBytes = 1 << 30
	// maxRunning bounds how many sessions work at the same time. A pass uses
	// one processor for milliseconds only, but may wait for its harness in
	// between.
	maxRunning = 64
)

func newLanes() *lanes {
	return &lanes{waiting: map[laneKey][]*call{}, running: make(chan struct{}, maxRunning)}
}

// submit queues c in the lane of its session. If that lane is full, or all
// lanes together are, submit refuses the call. The caller then answers a
// request with the refusal; it drops and logs a notification. The reader never
// waits for a lane, because the next frame may be a $/cancelRequest.
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
		go l.run(key) // ends with the lane's last call, for which the call's connection waits
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

// next removes and returns the lane's next call. If none waits, it ends the
// lane and returns nil.
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
	// The slice stays in the map even when it is empty. The key's presence
	// means that the lane's goroutine lives.
	l.waiting[key] = queue[1:]
	l.bytes -= c.bytes
	return c
}
