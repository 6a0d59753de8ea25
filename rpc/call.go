package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	stdjson "encoding/json" // jsonrpc2's response type holds stdjson.RawMessage

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

var (
	errCancelled = refuse(schema.CodeCancelled, "cancelled by the client")
	errAnswerDue = fmt.Errorf("answer is due: %w", context.DeadlineExceeded)
	errLeft      = client.ErrClientLeft
)

type call struct {
	conn   *conn
	method string
	id     jsonrpc2.ID
	notif  bool
	bound  bound
	memory *reservation
	within time.Duration

	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // fires at the deadline and answers with a timeout
	answered atomic.Bool
}

// The host answers with a fallback shortly before the deadline of a call. answerMargin returns how long before: a tenth
// of the time that the call may take, but at most 250 ms.
func answerMargin(within time.Duration) time.Duration { return min(within/10, 250*time.Millisecond) }

// The method `start` sets the deadline of a request. The time counts from the arrival of the request, as it does in the
// client. A notification gets its deadline only when its handler starts. No caller waits for a notification, and it
// must not be lost because its session is busy.
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

// The method `run` carries out the call. It returns when the handler returns, which may be long after a timeout was
// sent as the answer.
func (c *call) run() {
	defer c.conn.end(c)
	if c.answered.Load() { // the call was cancelled, or timed out, while it waited
		return
	}
	// If the client has disconnected, nobody reads the answer to a request, so the request is not run. A notification
	// still runs, because the event that it reports has happened.
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
		c.fail(c.unlessStopped(err))
		return
	}
	c.succeed(result)
}

// If the call was cancelled because the host stops, unlessStopped returns ErrStopping. The client then sends the call
// to the next host. After the error "cancelled", it would give up the call.
func (c *call) unlessStopped(err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(c.ctx), ErrStopping) {
		return ErrStopping
	}
	return err
}

// invoke turns a panic of the host into an error.
func (c *call) invoke(ctx context.Context) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.conn.log.Error("panic in a handler", "method", c.method, "session", c.bound.session,
				"cause", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = refuse(jsonrpc2.CodeInternalError, "internal error, see the log of the host")
		}
	}()
	result, err = c.bound.run(ctx, c.conn.server.provider, c.conn.peer)
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

// envelopeBytes is reserved for the other members of a response, for example a long id.
const envelopeBytes = 64 << 10

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
	message := method + ": " + err.Error()
	if code == schema.CodeDisabled { // the shim shows this error to the user
		message = err.Error()
	}
	return &jsonrpc2.Response{ID: id, Error: &jsonrpc2.Error{Code: int64(code), Message: message}}
}

// The method `answer` sends the response to a request, unless the call has already been answered, for example with a
// timeout. In that case, it discards the response and returns false.
func (c *call) answer(resp *jsonrpc2.Response) bool {
	if !c.answered.CompareAndSwap(false, true) {
		return false
	}
	c.conn.send(resp)
	return true
}
