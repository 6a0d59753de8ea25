package rpc

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
)

// Options of a Server. The zero value is usable.
type Options struct {
	Log   *slog.Logger // nil discards
	Clock clock.Clock  // nil is the machine's
	// Grace is what calls in flight get to finish when a connection or the
	// server ends; 0 is 5 s.
	Grace time.Duration
}

const defaultGrace = 5 * time.Second

// A Server serves one Host to any number of connections.
type Server struct {
	host      Host
	log       *slog.Logger
	grace     time.Duration
	startedAt int64 // Unix ms
	lanes     *lanes

	stopOnce  sync.Once
	stop      chan struct{}
	stopCause string // valid when stop is closed

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// NewServer returns a server of h.
func NewServer(h Host, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Server{
		host:      h,
		log:       o.Log,
		grace:     cmp.Or(o.Grace, defaultGrace),
		startedAt: o.Clock.Now(),
		lanes:     newLanes(),
		stop:      make(chan struct{}),
		conns:     map[*conn]struct{}{},
	}
}

// ServeConn serves one connection until the other end closes it or asks for
// shutdown, or ctx ends. Calls in flight then have the grace period to finish;
// their answers are written before ServeConn closes rwc and returns.
func (s *Server) ServeConn(ctx context.Context, rwc io.ReadWriteCloser) {
	c := newConn(ctx, s, rwc)
	written := make(chan struct{})
	go func() {
		c.stream.out.run()
		close(written)
	}()
	s.add(c)
	defer s.remove(c)

	select {
	case <-c.stream.ended:
	case <-c.rpc.DisconnectNotify():
	case <-c.stopAsked:
	case <-ctx.Done():
	}
	c.close()
	if st, ok := c.status(); ok && st.Harness != "" {
		s.log.Info("client left", "client", st.Client, "pid", st.PID)
	}
	// Closing a blocking pipe does not interrupt a write to it.
	within(time.Second, written)
}

// StopRequested is closed when a client has asked the whole host to stop.
func (s *Server) StopRequested() <-chan struct{} { return s.stop }

func (s *Server) requestStop(cause string) {
	s.stopOnce.Do(func() {
		s.stopCause = cause
		close(s.stop)
	})
}

func (s *Server) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// clients describes the connections that have initialized, in a stable order.
func (s *Server) clients() []schema.ClientStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []schema.ClientStatus
	for c := range s.conns {
		if st, ok := c.status(); ok {
			all = append(all, st)
		}
	}
	slices.SortFunc(all, func(a, b schema.ClientStatus) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Client, b.Client))
	})
	return all
}
