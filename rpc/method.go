package rpc

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	defaultDeadline     = 10 * time.Second
	toolExecuteDeadline = 60 * time.Second
	// These defaults are for a directory that was never initialized.
	defaultTransformTimeout = 5 * time.Second
	defaultResyncTimeout    = 30 * time.Second
)

// A method is an entry of the method table.
type method struct {
	deadline       time.Duration
	params, result reflect.Type
	// If a field is wrong, the error of decode names it.
	decode func(params json.Value, attachment []byte) (bound, error)
}

type bound struct {
	run func(context.Context, Provider, client.Client) (any, error)
	// params are the decoded parameters, for methods whose parameters the connection has to read, such as initialize.
	params any
	// If inLane is true, the call waits in the lane of session.
	inLane  bool
	session string
}

// The connection itself handles $/cancelRequest and shutdown, so they are not in the table.
var methods = map[string]method{
	// The next methods bypass the lanes.
	schema.MethodInitialize:       bind(Provider.Initialize),
	schema.MethodVersion:          bind(version),
	schema.MethodStatus:           bind(Provider.Status),
	schema.MethodSessionStatus:    bind(current(Host.SessionStatus)),
	schema.MethodSessionKeep:      bind(current(Host.Keep)), // a dashboard has no harness, and so no lane
	schema.MethodSessionSubscribe: bind(current(Host.Subscribe)),
	schema.MethodSessionExport: withMessages(bind(current(Host.SessionExport)), func(p *schema.SessionExportParams, messages json.Value) {
		p.Messages = messages
	}),

	// Calls of the next methods wait in the lane of their session.
	schema.MethodTransform: withMessages(
		bindInLane(Provider.Transform, func(p *schema.TransformParams) string { return p.Session }),
		func(p *schema.TransformParams, messages json.Value) { p.Messages = messages }),
	schema.MethodSystem:         bindInLane(current(Host.System), func(p *schema.SystemParams) string { return p.Session }),
	schema.MethodTextComplete:   bindInLane(current(Host.TextComplete), func(p *schema.TextCompleteParams) string { return p.Session }),
	schema.MethodCommandExecute: bindInLane(current(Host.CommandExecute), func(p *schema.CommandExecuteParams) string { return p.Session }),
	schema.MethodToolExecute: bindInLane(current(Host.ToolExecute), func(p *schema.ToolExecuteParams) string { return p.Session }).
		within(toolExecuteDeadline),
	// Events without a session share one lane, to keep their order.
	schema.MethodEvent: bindLane(current(Host.Event), func(p *schema.EventParams) (string, error) { return p.Session, nil }),
}

func (m method) within(d time.Duration) method {
	m.deadline = d
	return m
}

// version needs no host, so a bridge can find out which release is running even if the store hangs. The result is empty
// here, because the connection fills it in.
func version(Provider, context.Context, client.Client, schema.VersionParams) (schema.VersionResult, error) {
	return schema.VersionResult{}, nil
}

type handler[P, R any] = func(Provider, context.Context, client.Client, P) (R, error)

func current[P, R any](call func(Host, context.Context, client.Client, P) (R, error)) handler[P, R] {
	return func(p Provider, ctx context.Context, c client.Client, params P) (R, error) {
		h, release, err := p.Current(ctx)
		if err != nil {
			var none R
			return none, err
		}
		defer release()
		return call(h, ctx, c, params)
	}
}

func bind[P, R any](call handler[P, R]) method {
	m := method{deadline: defaultDeadline, params: reflect.TypeFor[P](), result: reflect.TypeFor[R]()}
	m.decode = func(raw json.Value, attachment []byte) (bound, error) {
		params := new(P)
		if err := decodeParams(raw, params); err != nil {
			return bound{}, err
		}
		if attachment != nil {
			return bound{}, refuse(jsonrpc2.CodeInvalidParams, "takes no attachment")
		}
		return bound{
			params: params,
			run: func(ctx context.Context, p Provider, c client.Client) (any, error) {
				return call(p, ctx, c, *params)
			},
		}, nil
	}
	return m
}

// bindLane binds a method whose calls wait in a lane. There is one lane for each session, so `lane` returns the id of
// the call's session.
func bindLane[P, R any](
	call handler[P, R],
	lane func(*P) (string, error),
) method {
	m := bind(call)
	decode := m.decode
	m.decode = func(raw json.Value, attachment []byte) (bound, error) {
		b, err := decode(raw, attachment)
		if err != nil {
			return bound{}, err
		}
		b.inLane = true
		b.session, err = lane(b.params.(*P))
		return b, err
	}
	return m
}

func bindInLane[P, R any](call handler[P, R], session func(*P) string) method {
	return bindLane(call, func(p *P) (string, error) {
		if session(p) == "" {
			return "", missing("session")
		}
		return session(p), nil
	})
}

// withMessages is for methods whose frames carry the session's messages in the attachment. It calls `set` to put these
// messages into the params.
func withMessages[P any](m method, set func(*P, json.Value)) method {
	decode := m.decode
	m.decode = func(raw json.Value, attachment []byte) (bound, error) {
		b, err := decode(raw, nil)
		if err != nil {
			return bound{}, err
		}
		if attachment == nil {
			return bound{}, refuse(jsonrpc2.CodeInvalidParams, "the attachment with the messages is missing")
		}
		set(b.params.(*P), attachment)
		return b, nil
	}
	return m
}

func decodeParams(raw json.Value, params any) error {
	if len(raw) == 0 { // JSON-RPC lets a client omit params
		raw = json.Value("{}")
	}
	if err := json.Unmarshal(raw, params); err != nil {
		// The error names the wrong field as a JSON Pointer, for example "/session".
		return fmt.Errorf("%w: %w", refuse(jsonrpc2.CodeInvalidParams, "params"), err)
	}
	return nil
}

func missing(field string) error {
	return refuse(jsonrpc2.CodeInvalidParams, "params: /%s is missing", field)
}
