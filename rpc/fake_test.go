package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A scriptedHost answers with the functions of a test, or with zero values. It embeds a nil Host, so a method that is
// not defined here panics.
type scriptedHost struct {
	Host
	initialize   func(schema.InitializeParams) (schema.InitializeResult, error)
	transform    func(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error)
	event        func(context.Context, schema.EventParams)
	textComplete func(context.Context, schema.TextCompleteParams) (schema.TextCompleteResult, error)
	status       func(context.Context) (schema.StatusResult, error)
	subscribe    func(client.Client)
	disconnected func(client.Client)
	export       func(schema.SessionExportParams) (schema.SessionExport, error)
}

var _ Host = (*scriptedHost)(nil)

func (h *scriptedHost) Initialize(_ context.Context, _ client.Client, p schema.InitializeParams) (r schema.InitializeResult, err error) {
	if h.initialize != nil {
		return h.initialize(p)
	}
	return r, nil
}

func (h *scriptedHost) Transform(ctx context.Context, c client.Client, p schema.TransformParams) (r schema.WireMutation, err error) {
	if h.transform != nil {
		return h.transform(ctx, c, p)
	}
	return r, nil
}

func (h *scriptedHost) System(context.Context, client.Client, schema.SystemParams) (r schema.SystemResult, err error) {
	return r, nil
}

func (h *scriptedHost) Event(ctx context.Context, _ client.Client, p schema.EventParams) (r schema.Empty, err error) {
	if h.event != nil {
		h.event(ctx, p)
	}
	return r, nil
}

func (h *scriptedHost) TextComplete(ctx context.Context, _ client.Client, p schema.TextCompleteParams) (r schema.TextCompleteResult, err error) {
	if h.textComplete != nil {
		return h.textComplete(ctx, p)
	}
	return r, nil
}

func (h *scriptedHost) ToolExecute(context.Context, client.Client, schema.ToolExecuteParams) (r schema.ToolExecuteResult, err error) {
	return r, nil
}

func (h *scriptedHost) CommandExecute(context.Context, client.Client, schema.CommandExecuteParams) (r schema.CommandExecuteResult, err error) {
	return r, nil
}

func (h *scriptedHost) Keep(context.Context, client.Client, schema.KeepParams) (r schema.KeepResult, err error) {
	return r, nil
}

func (h *scriptedHost) Status(ctx context.Context, _ client.Client, _ schema.StatusParams) (r schema.StatusResult, err error) {
	if h.status != nil {
		return h.status(ctx)
	}
	return r, nil
}

func (h *scriptedHost) SessionStatus(context.Context, client.Client, schema.SessionStatusParams) (r schema.SessionStatus, err error) {
	return r, nil
}

func (h *scriptedHost) Subscribe(_ context.Context, c client.Client, _ schema.SubscribeParams) (r schema.Empty, err error) {
	if h.subscribe != nil {
		h.subscribe(c)
	}
	return r, nil
}

func (h *scriptedHost) SessionExport(_ context.Context, _ client.Client, p schema.SessionExportParams) (r schema.SessionExport, err error) {
	if h.export != nil {
		return h.export(p)
	}
	return r, nil
}

func (h *scriptedHost) Disconnected(c client.Client) {
	if h.disconnected != nil {
		h.disconnected(c)
	}
}

type logBuffer struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

type rig struct {
	t      testing.TB
	server *Server
	log    *logBuffer
}

func newRig(t testing.TB, h Host) *rig {
	log := &logBuffer{}
	return &rig{t: t, log: log, server: NewServer(Always(h), Options{Log: log.logger()})}
}

func (r *rig) connect(handler Handler) *Client {
	r.t.Helper()
	ours, theirs := net.Pipe()
	r.serve(ours)
	client := NewClient(theirs, handler, nil)
	r.t.Cleanup(func() { client.Close(context.Background()) })
	return client
}

// The test waits for the end of the connection.
func (r *rig) serve(rwc io.ReadWriteCloser) (served <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.server.ServeConn(context.Background(), rwc)
	}()
	r.t.Cleanup(func() { <-done })
	return done
}

func (r *rig) open() *Client {
	r.t.Helper()
	c := r.connect(nil)
	mustCall(r.t, c, schema.MethodInitialize, hello(), nil)
	return c
}

func hello() schema.InitializeParams {
	return schema.InitializeParams{
		Protocol:  schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor},
		Client:    "opencode-shim",
		Harness:   schema.HarnessOpenCode,
		Directory: "/work",
		PID:       42,
	}
}

// A test fails after 20 seconds instead of hanging.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustCall(t testing.TB, c *Client, method string, params, result any) {
	t.Helper()
	if err := c.Call(patience(t), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func transform(ctx context.Context, c *Client, session string, base uint64, messages string) (schema.WireMutation, error) {
	var m schema.WireMutation
	p := schema.TransformParams{Session: session, Directory: "/work", Base: base}
	return m, c.CallWithAttachment(ctx, schema.MethodTransform, p, []byte(messages), &m)
}

func raw(s string) json.Value { return json.Value(s) }

func wait(t testing.TB, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-patience(t).Done():
		t.Fatalf("waited in vain for: %s", what)
	}
}

func wantCode(t testing.TB, err error, code int) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want code %d", err, code)
	}
	return e
}
