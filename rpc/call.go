package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	stdjson "encoding/json" // jsonrpc2's responses hold stdjson.RawMessage

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

var (
	errCancelled = errors.New("cancelled by the client")
	errAnswerDue = fmt.Errorf("answer is due: %w", context.DeadlineExceeded)
	errLeft      = errors.New("the client left")
)

// A call is one request or notification, from its arrival to its answer.
type call struct {
	conn   *conn
	method string
	id     jsonrpc2.ID
	notif  bool
	bound  bound
	bytes  int // size of the payload
	within time.Duration

	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // answers with a timeout
	answered atomic.Bool
}

// answerMargin is the part of a deadline that a handler does not get: it is for
// answering with a fallback and for the way back.
func answerMargin(within time.Duration) time.Duration { return min(within/10, 250*time.Millisecond) }

// start sets the clock of a request, which runs from its arrival, as it does at
// the other end. A notification has its time from when it runs: nobody waits for
// it, and what it tells must not be lost because the session was busy.
func (c *call) start(ctx context.Context) {
	if c.notif {
		c.ctx, c.cancel = context.WithCancelCause(ctx)
		return
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.within-answerMargin(c.within), errAnswerDue)
	ctx, cancel := context.WithCancelCause(ctx)
	c.ctx, c.cancel = ctx, func(cause error) {
		cancel(cause)
		stop()
	}
	c.timer = time.AfterFunc(c.within, func() {
		if c.fail(refuse(schema.CodeTimeout, "no answer within %v", c.within)) {
			c.conn.log.Warn("call missed its deadline", "method", c.method, "session", c.bound.session, "deadline", c.within)
		}
	})
}

// run does the work and answers. It returns when the handler does.
func (c *call) run() {
	defer c.conn.end(c)
	if c.answered.Load() { // cancelled or timed out while it waited
		return
	}
	// What a notification tells still counts when its sender has left; an answer
	// that nobody reads does not.
	if !c.notif && c.conn.hasLeft() {
		c.cancel(errLeft)
		return
	}
	ctx := c.ctx
	if c.notif {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.within)
		defer stop()
	}
	result, err := c.invoke(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	c.succeed(result)
}

// invoke calls the host. A panic becomes an error.
func (c *call) invoke(ctx context.Context) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.conn.log.Error("panic in a handler", "method", c.method, "session", c.bound.session,
				"cause", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = refuse(jsonrpc2.CodeInternalError, "internal error, see the log of the host")
		}
	}()
	result, err = c.bound.run(ctx, c.conn.server.host, c.conn.peer)
	if err != nil {
		return nil, err
	}
	return c.conn.complete(c.bound.params, result), nil
}

func (c *call) succeed(result any) {
	if c.notif {
		return
	}
	body, err := json.Marshal(result)
	if err == nil && len(body) > schema.MaxBodyBytes-envelopeBytes {
		err = fmt.Errorf("the answer has %d bytes, at most %d", len(body), schema.MaxBodyBytes)
	}
	if err != nil {
		c.fail(fmt.Errorf("encode answer: %w", err))
		return
	}
	c.answer(&jsonrpc2.Response{ID: c.id, Result: (*stdjson.RawMessage)(&body)})
}

// envelopeBytes is room for the members around a result; an id may be a string.
const envelopeBytes = 64 << 10

// fail answers with err and reports whether it was the first answer.
func (c *call) fail(err error) bool {
	code := codeOf(err)
	if code == jsonrpc2.CodeInternalError {
		c.conn.log.Error("call failed", "method", c.method, "session", c.bound.session, "cause", err)
	}
	if c.notif {
		if code != jsonrpc2.CodeInternalError {
			c.conn.log.Warn("notification not handled", "method", c.method, "session", c.bound.session, "cause", err)
		}
		return false
	}
	return c.answer(errorResponse(c.id, c.method, code, err))
}

func errorResponse(id jsonrpc2.ID, method string, code int, err error) *jsonrpc2.Response {
	return &jsonrpc2.Response{ID: id, Error: &jsonrpc2.Error{Code: int64(code), Message: method + ": " + err.Error()}}
}

// answer sends the first response of a request and swallows all others.
func (c *call) answer(resp *jsonrpc2.Response) bool {
	if !c.answered.CompareAndSwap(false, true) {
		return false
	}
	c.conn.send(resp)
	return true
}
