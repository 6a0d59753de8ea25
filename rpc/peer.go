package rpc

import (
	"context"
	stdjson "encoding/json" // jsonrpc2 decodes results into stdjson.RawMessage
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A peer is the harness's end of a connection. The host uses it to call the harness, for example to run an agent.
type peer struct{ conn *conn }

var _ client.Client = (*peer)(nil)

const (
	modelLimitsTimeout = 3 * time.Second
	// quickTimeout is for calls that the shim answers at once.
	quickTimeout = 3 * time.Second
	// If more bytes than this are queued for a subscriber, it misses notifications until the next pass.
	maxSubscriberBacklogBytes = 1 << 20
)

func (p *peer) ModelLimits(ctx context.Context, params schema.ModelLimitsParams) (schema.ModelLimits, error) {
	var limits schema.ModelLimits
	err := p.call(ctx, modelLimitsTimeout, schema.MethodModelLimits, params, &limits)
	return limits, err
}

func (p *peer) Show(ctx context.Context, params schema.NotifyShowParams) error {
	return p.call(ctx, quickTimeout, schema.MethodNotifyShow, params, nil)
}

// RunAgent adds no deadline, because `params` contains one, and the caller bounds the wait.
func (p *peer) RunAgent(ctx context.Context, params schema.AgentRunParams) (schema.AgentRunResult, error) {
	var result schema.AgentRunResult
	err := whileWaiting(ctx, func() error {
		return p.ask(ctx, schema.MethodAgentRun, params, &result)
	})
	return result, err
}

func (p *peer) AbortAgent(ctx context.Context, params schema.AgentAbortParams) error {
	return p.call(ctx, quickTimeout, schema.MethodAgentAbort, params, nil)
}

func (p *peer) SessionChanged(status []byte) {
	out := p.conn.stream.out
	if out.backlog() > maxSubscriberBacklogBytes {
		return
	}
	if err := out.put(changedHead(len(status)), status, []byte(changedEnd)); err != nil {
		p.conn.log.Debug("subscriber not told", "cause", err)
	}
}

// A session/changed notification is changedBegin, the encoded status, and changedEnd. So the host encodes a status only
// once for all subscribers, and does not copy it.
const (
	changedBegin = `{"jsonrpc":"2.0","method":"` + schema.MethodSessionChanged + `","params":`
	changedEnd   = `}`
)

func changedHead(statusBytes int) []byte {
	head := appendHeader(make([]byte, 0, 128), len(changedBegin)+statusBytes+len(changedEnd), 0)
	return append(head, changedBegin...)
}

func (p *peer) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return whileWaiting(ctx, func() error { return p.ask(ctx, method, params, result) })
}

// ask returns when the shim answers, when ctx ends, or when the shim closes its output.
func (p *peer) ask(ctx context.Context, method string, params, result any) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.conn.stream.ended:
			stop()
		case <-ctx.Done():
		}
	}()
	err := request(ctx, p.conn.rpc, &p.conn.lastID, method, params, nil, result)
	if err != nil && p.conn.isMute() {
		return fmt.Errorf("%s: %w", method, errLeft)
	}
	return err
}

// request calls the other end. If `result` is not nil, it decodes the answer into `result`. If ctx ends first, request
// withdraws the call. If the other end answers with an error, request returns it as an *Error.
func request(ctx context.Context, rc *jsonrpc2.Conn, lastID *atomic.Uint64, method string, params any, attachment []byte, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: encode params: %w", method, err)
	}
	id := jsonrpc2.ID{Num: lastID.Add(1)}
	options := []jsonrpc2.CallOption{jsonrpc2.PickID(id), jsonrpc2.ExtraField(extraParams, json.Value(raw))}
	if attachment != nil {
		options = append(options, jsonrpc2.ExtraField(extraAttachment, attachment))
	}
	pending, err := rc.DispatchCall(ctx, method, nil, options...)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var answer stdjson.RawMessage
	if err := pending.Wait(ctx, &answer); err != nil {
		if ctx.Err() != nil {
			_ = notify(rc, schema.MethodCancel, schema.CancelParams{ID: encodeID(id)}) // errors are ignored, because nothing depends on this notification
		}
		var failed *jsonrpc2.Error
		if errors.As(err, &failed) {
			return &Error{Method: method, Code: int(failed.Code), Message: failed.Message}
		}
		return fmt.Errorf("%s: %w", method, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("%s: decode result: %w", method, err)
	}
	return nil
}

func notify(rc *jsonrpc2.Conn, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: encode params: %w", method, err)
	}
	return rc.Notify(context.Background(), method, nil, jsonrpc2.ExtraField(extraParams, json.Value(raw)))
}
