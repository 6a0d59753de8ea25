package rpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Serve accepts connections from l and serves them. It ends when ctx ends, when
// a client asks the host to stop, or when no client has been connected for idle
// (0 waits for ever). Serve then stops listening, gives the calls in flight the
// grace period, and returns when the last connection is closed.
func (s *Server) Serve(ctx context.Context, l *Listener, idle time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idleTimer := newIdleTimer(idle, func() { stop(errIdle) })
	defer idleTimer.stop()

	var conns sync.WaitGroup
	accepted := make(chan error, 1)
	go func() {
		accepted <- s.accept(l, func(conn net.Conn) {
			idleTimer.enter()
			conns.Go(func() {
				defer idleTimer.leave()
				defer conn.Close()
				if err := l.Check(conn); err != nil {
					s.log.Warn("connection refused", "cause", err)
					return
				}
				s.ServeConn(ctx, conn)
			})
		})
	}()

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("host stops", "cause", context.Cause(ctx))
	case <-s.StopRequested():
		s.log.Info("host stops", "cause", s.stopCause)
	case err = <-accepted:
		s.log.Error("host stops", "cause", err)
	}
	closeErr := l.Close()
	if err == nil {
		<-accepted // after this no goroutine joins conns
	}
	stop(errStopping)
	conns.Wait()
	return errors.Join(err, closeErr)
}

var errIdle = errors.New("no client for a while")

func (s *Server) accept(l *Listener, serve func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			serve(conn)
		case errors.As(err, &temporary) && temporary.Temporary():
			// The process is most likely out of file descriptors. A retry
			// succeeds when some client leaves.
			s.log.Warn("accept", "cause", err)
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// firstClientTimeout is the least time that a new host waits for its first
// client. The process that started the host has yet to connect.
const firstClientTimeout = 30 * time.Second

// An idleTimer fires when no client has been connected for a while.
type idleTimer struct {
	idle  time.Duration
	timer *time.Timer

	mu      sync.Mutex
	present int
}

func newIdleTimer(idle time.Duration, fire func()) *idleTimer {
	t := &idleTimer{idle: idle}
	if idle <= 0 {
		return t
	}
	t.timer = time.AfterFunc(max(idle, firstClientTimeout), func() {
		t.mu.Lock()
		present := t.present
		t.mu.Unlock()
		if present == 0 { // no client connected since the timer fired
			fire()
		}
	})
	return t
}

func (t *idleTimer) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.present++
	t.stop()
}

func (t *idleTimer) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.present--
	if t.present == 0 && t.timer != nil {
		t.timer.Reset(t.idle)
	}
}

func (t *idleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
