package rpc

import (
	"context"
	stdjson "encoding/json" // jsonrpc2's response type holds stdjson.RawMessage
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Handler answers requests of the host to its client, for example models/limits. Each request runs on its own
// goroutine. Notifications run in order on the reader goroutine, so their handler must not wait for the connection.
type Handler func(ctx context.Context, method string, params json.Value) (result any, err error)

// A Client is the shim's end of a connection, in Go: for the command line, replay and tests. It is safe for
// concurrent use.
type Client struct {
	rpc     *jsonrpc2.Conn
	stream  *stream
	handler Handler
	lastID  atomic.Uint64
	ready   chan struct{}

	// mu guards closed. After Close has set closed, no goroutine may be added to wg.
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // counts the writer and the handlers of requests
}

// NewClient starts a connection to a host over rwc. A nil handler refuses every request of the host. A nil log
// discards the log. The caller must Close the client.
func NewClient(rwc io.ReadWriteCloser, handler Handler, log *slog.Logger) *Client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if handler == nil {
		handler = func(context.Context, string, json.Value) (any, error) {
			return nil, refuse(jsonrpc2.CodeMethodNotFound, "no such method")
		}
	}
	c := &Client{handler: handler, ready: make(chan struct{})}
	c.stream = newStream(rwc, log, func(error) {
		<-c.ready
		c.rpc.Close()
	})
	c.rpc = jsonrpc2.NewConn(context.Background(), c.stream, c, c.stream.options()...)
	close(c.ready)
	c.wg.Go(c.stream.out.run)
	return c
}

// Call calls a method of the host, and decodes the answer into result, if result is not nil. If the host answers with
// an error, Call returns an *Error. If ctx ends first, Call withdraws the request with $/cancelRequest.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return request(ctx, c.rpc, &c.lastID, method, params, nil, result)
}

// CallWithAttachment is like Call, but also sends raw bytes, for example the message array of a session/transform. The
// caller must not change the attachment until CallWithAttachment returns.
func (c *Client) CallWithAttachment(ctx context.Context, method string, params any, attachment []byte, result any) error {
	return request(ctx, c.rpc, &c.lastID, method, params, attachment, result)
}

func (c *Client) Notify(method string, params any) error { return notify(c.rpc, method, params) }

func (c *Client) Done() <-chan struct{} { return c.rpc.DisconnectNotify() }

// Close writes the queued messages, at most until ctx ends, and then closes the connection. Calls in progress fail.
func (c *Client) Close(ctx context.Context) error {
	err := c.stream.out.flush(ctx)
	c.rpc.Close()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wg.Wait()
	return err
}

func (c *Client) Handle(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-c.ready
	if req.Notif {
		_, _ = c.handler(ctx, req.Method, rawParams(req)) // a notification has no answer that could carry the error
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed { // after Close, the wait group must not grow
		return
	}
	c.wg.Go(func() {
		_ = c.rpc.SendResponse(ctx, c.respond(ctx, req)) // an error means that the connection is gone
	})
}

func (c *Client) respond(ctx context.Context, req *jsonrpc2.Request) *jsonrpc2.Response {
	result, err := c.handler(ctx, req.Method, rawParams(req))
	if err != nil {
		return errorResponse(req.ID, req.Method, codeOf(err), err)
	}
	body, err := json.Marshal(result)
	if err != nil {
		return errorResponse(req.ID, req.Method, codeOf(err), err)
	}
	return &jsonrpc2.Response{ID: req.ID, Result: (*stdjson.RawMessage)(&body)}
}
