package rpc

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
)

// Options configure a Server. The zero value is usable.
type Options struct {
	Log   *slog.Logger // nil discards the log
	Clock clock.Clock  // nil is the machine's clock
	// Grace is how long calls in flight may still run after their connection or the server has ended. 0 means 5 s.
	Grace time.Duration
}

const DefaultGrace = 5 * time.Second

// A Server serves connections from the host of one Provider.
type Server struct {
	provider  Provider
	log       *slog.Logger
	grace     time.Duration
	startedAt int64 // Unix ms
	lanes     *lanes
	memory    memory       // of all frames
	names     memory       // of the names of open directories
	unread    atomic.Int64 // bytes in all outboxes

	stopOnce  sync.Once
	stop      chan struct{}
	stopCause string // set when stop is closed

	// mu guards conns.
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func NewServer(p Provider, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Server{
		provider:  p,
		log:       o.Log,
		grace:     cmp.Or(o.Grace, DefaultGrace),
		startedAt: o.Clock.Now(),
		lanes:     newLanes(),
		memory:    memory{of: "the messages of all clients", limit: maxFrameMemory},
		names:     memory{of: "the directories of all clients", limit: maxNames},
		stop:      make(chan struct{}),
		conns:     map[*conn]struct{}{},
	}
}

// ServeConn serves one connection. It returns when the other end closes the connection or asks for shutdown, or when
// ctx ends. Calls in flight have the grace period to finish, and their answers are written before rwc is closed.
func (s *Server) ServeConn(ctx context.Context, rwc io.ReadWriteCloser) {
	c := newConn(ctx, s, rwc)
	defer s.remove(c)
	written := make(chan struct{})
	go func() {
		c.stream.out.run()
		close(written)
	}()
	s.await(ctx, c)
	c.close()
	if st, ok := c.status(); ok && st.Harness != "" {
		s.log.Info("client left", "client", st.Client, "pid", st.PID)
	}
	// Closing a blocking pipe does not interrupt a write, so ServeConn waits at most a second for the writer.
	within(time.Second, written)
}

// await waits until the connection must end. Once a client has sent a message, it may stay as long as it wants.
func (s *Server) await(ctx context.Context, c *conn) {
	limit := silenceTimeout
	if c.refusal != nil {
		s.log.Warn("connection refused", "cause", c.refusal)
		limit = refusalTimeout
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	expired, spoken := timer.C, c.spoken
	for {
		select {
		case <-spoken:
			if spoken = nil; c.refusal == nil {
				expired = nil
			}
			continue
		case <-expired:
			if c.refusal == nil {
				s.log.Warn("connection closed", "cause", fmt.Sprintf("the client sent nothing for %v", limit))
			}
		case <-c.stream.ended:
		case <-c.rpc.DisconnectNotify():
		case <-c.stopAsked:
		case <-c.crowded:
			s.log.Warn("connection closed", "cause", "there are too many, and its client has not initialized")
		case <-ctx.Done():
		}
		return
	}
}

// StopRequested returns a channel that is closed when a client has asked the whole host to stop.
func (s *Server) StopRequested() <-chan struct{} { return s.stop }

// StopCause returns why a client has asked the host to stop, for the log. It must not be called before the channel of
// StopRequested is closed.
func (s *Server) StopCause() string { return s.stopCause }

func (s *Server) requestStop(cause string) {
	s.stopOnce.Do(func() {
		s.stopCause = cause
		close(s.stop)
	})
}

// The line names the release that replaces the host.
func stopCause(p schema.ShutdownParams) string {
	if p.Version == "" {
		return "a client asked for it"
	}
	return fmt.Sprintf("release %s takes the place of %s", p.Version, Version)
}

// maxConns is more than a user needs: each harness process has one connection, and so has each `status --watch`. But
// a program that opens connections in a loop must not use up the file descriptors of the host.
const maxConns = 256

// A refused connection stays open for this time, so that its client can read the reason.
const refusalTimeout = 5 * time.Second

// silenceTimeout is how long a new client may send nothing. A working client sends its first message at once, so a
// client that is silent for this long must have hung. The timeout is longer than stallTimeout, which ends a connection
// that stalls within its first message, and logs the reason.
const silenceTimeout = 2 * stallTimeout

// A working client initializes at once. If there are too many connections, the server may close one that has not
// initialized within this time.
const initializeTimeout = 5 * time.Second

// add registers a connection. If there are too many, it closes the oldest one that should have initialized by now. If
// there is no such connection, it refuses c.
func (s *Server) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= maxConns && !s.makePlace() {
		c.refusal = refuse(schema.CodeBusy, "%d programs are connected to the host, and there may not be more; end one of them", len(s.conns))
		return
	}
	s.conns[c] = struct{}{}
}

// The caller holds mu.
func (s *Server) makePlace() bool {
	var oldest *conn
	for c := range s.conns {
		if _, initialized := c.status(); !initialized && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	if oldest == nil || time.Since(oldest.since) < initializeTimeout {
		return false
	}
	delete(s.conns, oldest)
	close(oldest.crowded)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names.release()
}

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
