package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type conn struct {
	server *Server
	log    *slog.Logger
	stream *stream
	rpc    *jsonrpc2.Conn
	ready  chan struct{} // closed when rpc is set
	peer   *peer
	lastID atomic.Uint64 // id of the last call that this end made

	// ctx ends when the handlers must end.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// hangUp ends the context of the jsonrpc2 library, which then closes the connection. `cancel` alone must not do
	// this, because handlers can still send their answers after ctx has ended.
	hangUp context.CancelFunc

	// quick is a semaphore. It holds a token for each running call that bypasses the lanes, such as status.
	quick chan struct{}
	// inLanes is a semaphore. It holds a token for each call of this connection that is running in a lane.
	inLanes  chan struct{}
	inflight sync.WaitGroup // calls between begin and end
	// A worker without a lane waits at the channel `free` for the key of its next lane. freeWorkers counts these
	// workers.
	free        chan laneKey
	freeWorkers atomic.Int32

	since     time.Time
	stopAsked chan struct{} // closed when the other end asked for shutdown
	crowded   chan struct{} // closed when another client needs the place
	// speak closes spoken when the first message has arrived.
	spoken chan struct{}
	speak  func()

	// refusal is the answer to every call, or nil if the server accepted this connection. The calls version and
	// shutdown work even on a refused connection, so that a newer host can shut this host down.
	refusal error

	// mu guards calls, stopping, shutdown, client and names.
	mu       sync.Mutex
	calls    map[jsonrpc2.ID]*call
	stopping bool
	shutdown *jsonrpc2.ID // the shutdown request, answered after all other calls
	client   clientInfo
	names    reservation // the memory that the names of the client's open directories take
}

// maxQuickCalls bounds the running calls of one connection that bypass the lanes.
const maxQuickCalls = 32

func newConn(ctx context.Context, s *Server, rwc io.ReadWriteCloser) *conn {
	c := &conn{
		server:    s,
		log:       s.log,
		ready:     make(chan struct{}),
		quick:     make(chan struct{}, maxQuickCalls),
		inLanes:   make(chan struct{}, maxRunningOfClient),
		free:      make(chan laneKey),
		since:     time.Now(),
		stopAsked: make(chan struct{}),
		crowded:   make(chan struct{}),
		spoken:    make(chan struct{}),
		calls:     map[jsonrpc2.ID]*call{},
	}
	c.speak = sync.OnceFunc(func() { close(c.spoken) })
	c.peer = &peer{conn: c}
	// When the server's ctx ends, handlers may still run for the grace period. So c.ctx does not end with it: only
	// c.cancel ends c.ctx.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.stream = newStream(rwc, s.log, func(err error) {
		if !IsEnd(err) {
			s.log.Warn("connection closed: cannot write", "cause", err)
		}
		<-c.ready
		c.rpc.Close()
	})
	c.stream.ended = make(chan struct{})
	c.stream.memory = &memory{of: "the messages of this client", limit: maxClientMemory, sum: &s.memory}
	c.names.of = &memory{of: "the directories of this client", limit: maxClientNames, sum: &s.names}
	c.stream.out.all = &s.unread
	s.add(c) // the connection must be registered before the first call is read
	open, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	c.hangUp = hangUp
	c.rpc = jsonrpc2.NewConn(open, c.stream, c, c.stream.options()...)
	close(c.ready)
	return c
}

// Handle implements jsonrpc2.Handler. It runs on the reader goroutine and never blocks. So it queues calls in the order
// in which they arrive.
func (c *conn) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-c.ready
	c.speak()
	var err error
	switch req.Method {
	case schema.MethodCancel:
		err = c.cancelCall(rawParams(req))
	case schema.MethodShutdown:
		err = c.beginShutdown(req)
	default:
		err = c.dispatch(req)
	}
	if err == nil {
		return
	}
	if req.Notif {
		c.log.Warn("notification not handled", "method", req.Method, "cause", err)
		return
	}
	c.send(errorResponse(req.ID, req.Method, codeOf(err), err))
}

func rawParams(req *jsonrpc2.Request) json.Value {
	if req.Params == nil {
		return nil
	}
	return json.Value(*req.Params)
}

// attachmentOf returns the attachment of a request, or nil if it has none. If the host had no memory for the
// attachment, it returns the error with which to answer the request.
func attachmentOf(req *jsonrpc2.Request) ([]byte, error) {
	for _, f := range req.ExtraFields {
		switch f.Name {
		case extraAttachment:
			return f.Value.([]byte), nil
		case extraRefused:
			return nil, refuse(schema.CodeBusy, "%v", f.Value)
		}
	}
	return nil, nil
}

// dispatch queues a call in its session's lane. If the method bypasses the lanes, dispatch starts a goroutine.
func (c *conn) dispatch(req *jsonrpc2.Request) error {
	m, ok := methods[req.Method]
	if !ok && req.Notif && strings.HasPrefix(req.Method, "$/") {
		return nil // in LSP, methods with "$/" are optional, and LSP client libraries send some of them
	}
	if !ok {
		return refuse(jsonrpc2.CodeMethodNotFound, "no such method")
	}
	params := rawParams(req)
	attachment, err := attachmentOf(req)
	if err != nil {
		return err
	}
	b, err := m.decode(params, attachment)
	if err != nil {
		return err
	}
	if len(b.session) > maxSessionBytes {
		return tooLong("session", len(b.session), maxSessionBytes)
	}
	if p, ok := b.params.(*schema.InitializeParams); ok {
		if err := c.admit(p); err != nil {
			return err
		}
	}
	harness := c.harness()
	if harness == "" { // a client that only watches may act for the user; its call waits in the lane of the named session
		switch p := b.params.(type) {
		case *schema.CommandExecuteParams:
			harness = p.Harness
		case *schema.KeepParams:
			harness = p.Harness
		}
	}
	if b.inLane && harness == "" {
		return refuse(jsonrpc2.CodeInvalidRequest, "initialize with a harness comes first")
	}
	cl := &call{
		conn: c, method: req.Method, id: req.ID, notif: req.Notif,
		bound: b, within: c.deadline(m, b),
	}
	if err := c.begin(cl); err != nil {
		return err
	}
	cl.memory = c.stream.takeOver()
	if err := c.submit(laneKey{harness, b.session}, cl); err != nil {
		c.end(cl)
		return err
	}
	return nil
}

func (c *conn) submit(key laneKey, cl *call) error {
	if cl.bound.inLane {
		return c.server.lanes.submit(key, cl)
	}
	select {
	case c.quick <- struct{}{}:
	default:
		return refuse(schema.CodeBusy, "%d calls of this connection are running", maxQuickCalls)
	}
	go func() {
		cl.run()
		<-c.quick
	}()
	return nil
}

// begin registers a call. The caller must later call end.
func (c *conn) begin(cl *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return ErrStopping
	}
	if c.refusal != nil && cl.method != schema.MethodVersion {
		return c.refusal
	}
	if !cl.notif {
		if _, taken := c.calls[cl.id]; taken {
			return refuse(jsonrpc2.CodeInvalidRequest, "id %s is in use", encodeID(cl.id))
		}
		c.calls[cl.id] = cl
	}
	c.inflight.Add(1)
	cl.start(c.ctx)
	return nil
}

func (c *conn) end(cl *call) {
	if cl.timer != nil {
		cl.timer.Stop()
	}
	cl.cancel(nil)
	cl.memory.release()
	c.mu.Lock()
	if !cl.notif {
		delete(c.calls, cl.id)
	}
	c.mu.Unlock()
	c.inflight.Done()
}

// cancelCall answers the call at once. The lane still waits until the handler has returned.
func (c *conn) cancelCall(params json.Value) error {
	var p schema.CancelParams
	if err := decodeParams(params, &p); err != nil {
		return err
	}
	id, err := decodeID(p.ID)
	if err != nil {
		return fmt.Errorf("%w: /id: %w", refuse(jsonrpc2.CodeInvalidParams, "params"), err)
	}
	c.mu.Lock()
	cl := c.calls[id]
	c.mu.Unlock()
	if cl != nil { // a call that was already answered is no longer in calls, which is not an error
		cl.cancel(errCancelled)
		cl.fail(errCancelled)
	}
	return nil
}

// beginShutdown records a shutdown request, and refuses new calls from now on. ServeConn then ends the connection and
// answers the request.
func (c *conn) beginShutdown(req *jsonrpc2.Request) error {
	var p schema.ShutdownParams
	if err := decodeParams(rawParams(req), &p); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return refuse(schema.CodeStopping, "already stopping")
	}
	c.stopping = true
	if !req.Notif {
		c.shutdown = &req.ID
	}
	close(c.stopAsked)
	if p.Host {
		c.server.requestStop(stopCause(p))
	}
	return nil
}

// close refuses new calls, lets running calls finish within the grace period, and writes their answers.
func (c *conn) close() {
	c.mu.Lock()
	c.stopping = true
	shutdown := c.shutdown
	c.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		c.inflight.Wait()
		c.server.provider.Disconnected(c.peer)
		close(drained)
	}()
	if !within(c.server.grace, drained) {
		c.cancel(ErrStopping)
		if !within(time.Second, drained) {
			c.log.Error("handlers do not return", "calls", c.running())
		}
	}
	if shutdown != nil {
		c.send(emptyResponse(*shutdown))
	}
	c.flush()
	if shutdown != nil {
		c.linger()
	}
	c.rpc.Close()
	c.cancel(ErrStopping)
	c.hangUp()
}

// lingerTimeout limits how long linger waits for a client.
const lingerTimeout = time.Second

// After a shutdown, linger waits until the client has closed the connection. If the host closed it first, a bridge
// would report that the host died.
func (c *conn) linger() {
	timer := time.NewTimer(lingerTimeout)
	defer timer.Stop()
	select {
	case <-c.stream.ended:
	case <-c.rpc.DisconnectNotify():
	case <-timer.C:
	}
}

// ErrStopping is the answer to a call that a stopping host interrupts or refuses. A client can send the call again to
// the next host.
var ErrStopping = refuse(schema.CodeStopping, "the host is stopping")

// flushTimeout limits the time for writing the last answers, because the client may have stopped reading.
const flushTimeout = 2 * time.Second

func (c *conn) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := c.stream.out.flush(ctx); err != nil && !IsEnd(err) {
		c.log.Warn("last answers not written", "cause", err)
	}
}

func within(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (c *conn) running() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, cl := range c.calls {
		names = append(names, cl.method)
	}
	return names
}

// hasLeft reports whether the client has disconnected.
func (c *conn) hasLeft() bool {
	select {
	case <-c.rpc.DisconnectNotify():
		return true
	default:
		return false
	}
}

// isMute reports whether no further frame can arrive from the client. The client may still read answers.
func (c *conn) isMute() bool {
	select {
	case <-c.stream.ended:
		return true
	default:
		return c.hasLeft()
	}
}

// send queues a response and does not wait. If too many bytes are queued for a client, send closes the connection.
func (c *conn) send(resp *jsonrpc2.Response) {
	err := c.rpc.SendResponse(c.ctx, resp)
	if err == nil || errors.Is(err, jsonrpc2.ErrClosed) || IsEnd(err) {
		return
	}
	c.log.Warn("connection closed: cannot answer", "cause", err)
	c.rpc.Close()
}
