package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/rpc"
)

// ServeOptions configure Serve. The zero value is usable.
type ServeOptions struct {
	Log *slog.Logger // nil discards the log
	// Idle is how long the host waits without clients before it ends. 0 means forever.
	Idle time.Duration
}

// Serve accepts connections from l and passes them to s. It stops when ctx ends, when a client asks the host to stop,
// or when no client was connected for o.Idle. Running calls may still finish within the server's grace period. Serve
// returns when the last connection is closed.
func Serve(ctx context.Context, s *rpc.Server, l *Listener, o ServeOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idleTimer := newIdleTimer(o.Idle, func() { stop(errIdle) })
	defer idleTimer.stop()

	var conns sync.WaitGroup
	accepted := make(chan error, 1)
	go func() {
		accepted <- accept(l, o.Log, func(conn net.Conn) {
			idleTimer.enter()
			conns.Go(func() {
				defer idleTimer.leave()
				defer conn.Close()
				if err := l.Check(conn); err != nil {
					o.Log.Warn("connection refused", "cause", err)
					return
				}
				s.ServeConn(ctx, conn)
			})
		})
	}()

	var err error
	select {
	case <-ctx.Done():
		o.Log.Info("host stops", "cause", context.Cause(ctx))
	case <-s.StopRequested():
		o.Log.Info("host stops", "cause", s.StopCause())
	case err = <-accepted:
		o.Log.Error("host stops", "cause", err)
	}
	closeErr := l.Close()
	if err == nil {
		<-accepted // after this, the wait group conns no longer grows
	}
	stop(rpc.ErrStopping)
	conns.Wait()
	return errors.Join(err, closeErr)
}

var errIdle = errors.New("no client for a while")

func accept(l *Listener, log *slog.Logger, serve func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			serve(conn)
		case errors.As(err, &temporary) && temporary.Temporary():
			// The process probably has too many open files. When a client leaves, Accept works again.
			log.Warn("accept", "cause", err)
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// A new host waits at least this long for a client, because the process that started it must still connect.
const firstClientTimeout = 30 * time.Second

type idleTimer struct {
	idle  time.Duration
	timer *time.Timer

	// mu guards present, the number of connected clients.
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
		if present == 0 { // no client has connected since the timer fired
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
