package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type blockingPass struct {
	scriptedHost
	began   chan struct{}
	release chan struct{}
	left    chan struct{} // Disconnected closes it
	running atomic.Int64
}

func newBlockingPass(t *testing.T) *blockingPass {
	b := &blockingPass{began: make(chan struct{}), release: make(chan struct{}), left: make(chan struct{})}
	b.transform = func(context.Context, client.Client, schema.TransformParams) (schema.WireMutation, error) {
		b.running.Add(1)
		defer b.running.Add(-1)
		close(b.began)
		<-b.release
		return schema.WireMutation{Revision: 9}, nil
	}
	b.disconnected = func(client.Client) {
		if n := b.running.Load(); n != 0 {
			t.Errorf("Disconnected came while %d calls ran", n)
		}
		close(b.left)
	}
	return b
}

func TestEndOfInputWaitsForTheAnswers(t *testing.T) {
	b := newBlockingPass(t)
	// The other end needs many reads for the message.
	head := json.Quote(strings.Repeat("x", 4<<20))
	pass := b.transform
	b.transform = func(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
		m, err := pass(ctx, c, p)
		m.Head = []json.Value{head}
		return m, err
	}
	r := newRig(t, b)
	ours, theirs := Pipe()
	served := r.serve(ours)
	c := NewClient(theirs, nil, nil)
	defer c.Close(context.Background())
	mustCall(t, c, schema.MethodInitialize, hello(), nil)
	passed := make(chan schema.WireMutation, 1)
	go func() {
		m, err := transform(patience(t), c, "s", 0, "[]")
		if err != nil {
			t.Error(err)
		}
		passed <- m
	}()
	wait(t, "the pass to begin", b.began)
	if err := theirs.(*halfPipe).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for until := patience(t); !isStopping(r.server); runtime.Gosched() {
		if until.Err() != nil {
			t.Fatal("the server does not see the end")
		}
	}
	close(b.release)
	if m := <-passed; m.Revision != 9 || len(m.Head) != 1 || len(m.Head[0]) != len(head) {
		t.Errorf("answer after the end of input has revision %d and %d messages", m.Revision, len(m.Head))
	}
	wait(t, "Disconnected", b.left)
	wait(t, "ServeConn to return", served)
}

func isStopping(s *Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.stopping
	}
	return true
}

func TestLostConnectionDropsRequestsButNotEvents(t *testing.T) {
	b := newBlockingPass(t)
	heard := make(chan struct{})
	b.event = func(context.Context, schema.EventParams) { close(heard) }
	b.textComplete = func(context.Context, schema.TextCompleteParams) (res schema.TextCompleteResult, err error) {
		t.Error("a request ran though nobody could read its answer")
		return res, nil
	}
	r := newRig(t, b)
	ours, theirs := net.Pipe()
	lossy := &failingWriter{ReadWriteCloser: ours}
	served := r.serve(lossy)
	c := NewClient(theirs, nil, nil)
	mustCall(t, c, schema.MethodInitialize, hello(), nil)
	go transform(patience(t), c, "s", 0, "[]")
	wait(t, "the pass to begin", b.began)
	go c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
	for len(callsOf(r.server)) < 2 {
		mustCall(t, c, schema.MethodStatus, nil, nil)
	}
	if err := c.Notify(schema.MethodEvent, schema.EventParams{Session: "s", Event: raw("{}")}); err != nil {
		t.Fatal(err)
	}
	mustCall(t, c, schema.MethodStatus, nil, nil) // after this round trip, all earlier frames have been read
	lossy.broken.Store(true)
	_ = c.Call(patience(t), schema.MethodStatus, nil, nil) // writing this call's answer fails
	close(b.release)
	wait(t, "the event", heard)
	wait(t, "Disconnected", b.left)
	wait(t, "ServeConn to return", served)
	c.Close(context.Background())
}

type failingWriter struct {
	io.ReadWriteCloser
	broken atomic.Bool
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.broken.Load() {
		return 0, io.ErrClosedPipe
	}
	return w.ReadWriteCloser.Write(p)
}

func callsOf(s *Server) (calls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for _, name := range c.running() {
			if name != schema.MethodStatus {
				calls = append(calls, name)
			}
		}
	}
	return calls
}

func TestShutdownFinishesThenAnswersThenCloses(t *testing.T) {
	b := newBlockingPass(t)
	r := newRig(t, b)
	c := r.open()
	passed, shut := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := transform(patience(t), c, "s", 0, "[]")
		passed <- err
	}()
	wait(t, "the pass to begin", b.began)
	go func() {
		err := c.Call(patience(t), schema.MethodShutdown, schema.ShutdownParams{}, nil)
		if n := b.running.Load(); n != 0 {
			t.Errorf("the shutdown was answered while %d calls ran", n)
		}
		shut <- err
	}()
	// Once the shutdown has been read, no new call begins.
	for {
		err := c.Call(patience(t), schema.MethodStatus, nil, nil)
		if err == nil {
			continue
		}
		wantCode(t, err, schema.CodeStopping)
		break
	}
	close(b.release)
	if err := <-passed; err != nil {
		t.Errorf("pass in flight: %v", err)
	}
	if err := <-shut; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	select {
	case <-r.server.StopRequested():
		t.Error("a client that left stopped the host for all")
	default:
	}
}

func TestShutdownOfTheHostIsPassedOn(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	mustCall(t, r.open(), schema.MethodShutdown, schema.ShutdownParams{Host: true}, nil)
	wait(t, "the request to stop", r.server.StopRequested())
}

func TestGracePeriodIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		b := newBlockingPass(t)
		b.transform = func(ctx context.Context, _ client.Client, _ schema.TransformParams) (m schema.WireMutation, err error) {
			close(b.began)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return m, ctx.Err()
		}
		r := newRig(t, b)
		ours, theirs := net.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			r.server.ServeConn(ctx, ours)
		}()
		c := NewClient(theirs, nil, nil)
		if err := c.Call(t.Context(), schema.MethodInitialize, hello(), nil); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := transform(t.Context(), c, "s", 0, "[]") // this call has a deadline of 30 s
			answered <- err
		}()
		<-b.began
		start := time.Now()
		stop()
		<-served
		if elapsed := time.Since(start); elapsed != DefaultGrace {
			t.Errorf("ended after %v, want %v", elapsed, DefaultGrace)
		}
		if !errors.Is(cause, ErrStopping) {
			t.Errorf("handler was ended by %v, want %v", cause, ErrStopping)
		}
		wantCode(t, <-answered, schema.CodeStopping) // after this code, the shim asks the next host
		c.Close(t.Context())
	})
}

func TestBrokenFrameEndsTheConnectionAndIsLogged(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"oversized body":       {"Content-Length: 8388609\r\n\r\n", "oversized frame"},
		"oversized attachment": {"Content-Length: 2\r\nAttachment-Length: 600000000\r\n\r\n{}", "oversized frame"},
		"header":               {"GET / HTTP/1.1\r\n\r\n", "malformed frame"},
		"no JSON":              {"Content-Length: 3\r\n\r\n{x}", "malformed frame"},
		"batch":                {"Content-Length: 2\r\n\r\n[]", "malformed frame"},
		"neither":              {"Content-Length: 8\r\n\r\n{\"id\":1}", "malformed frame"},
		"id of an object":      {"Content-Length: 25\r\n\r\n{\"id\":{},\"method\":\"stop\"}", "malformed frame"},
		"cut off":              {"Content-Length: 30\r\n\r\n{", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &scriptedHost{})
			ours, theirs := net.Pipe()
			served := r.serve(ours)
			go func() {
				io.WriteString(theirs, test.data)
				if name == "cut off" {
					theirs.Close()
				}
			}()
			wait(t, "ServeConn to return", served)
			theirs.Close()
			if !strings.Contains(r.log.String(), test.want) {
				t.Errorf("log does not say %q:\n%s", test.want, r.log)
			}
		})
	}
}

func TestHostAsksItsClient(t *testing.T) {
	var me client.Client
	r := newRig(t, &scriptedHost{
		transform: func(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
			me = c
			limits, err := c.ModelLimits(ctx, schema.ModelLimitsParams{Directory: p.Directory, Model: schema.Model{Provider: "a", ID: "b"}})
			if err != nil {
				return schema.WireMutation{}, err
			}
			return schema.WireMutation{Start: limits.ContextTokens}, c.Show(ctx, schema.NotifyShowParams{Message: "hi"})
		},
	})
	changed := make(chan schema.SessionStatus, 2)
	var shown string
	c := r.connect(func(_ context.Context, method string, params json.Value) (any, error) {
		switch method {
		case schema.MethodModelLimits:
			var p schema.ModelLimitsParams
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, err
			}
			if p.Model.ID != "b" {
				t.Errorf("asked for model %+v", p.Model)
			}
			return schema.ModelLimits{ContextTokens: 200_000}, nil
		case schema.MethodNotifyShow:
			shown = string(params)
			return schema.Empty{}, nil
		case schema.MethodSessionChanged:
			var st schema.SessionStatus
			if err := json.Unmarshal(params, &st); err != nil {
				return nil, err
			}
			changed <- st
		}
		return nil, nil
	})
	mustCall(t, c, schema.MethodInitialize, hello(), nil)
	m, err := transform(patience(t), c, "s", 0, "[]")
	if err != nil {
		t.Fatal(err)
	}
	if m.Start != 200_000 {
		t.Errorf("limits arrived as %d", m.Start)
	}
	if want := `{"directory":"","message":"hi","variant":""}`; shown != want {
		t.Errorf("shown %s, want %s", shown, want)
	}
	me.SessionChanged([]byte(`{"session":"s","passes":1}`))
	me.SessionChanged([]byte(`{"session":"s","passes":2}`))
	for want := 1; want <= 2; want++ {
		if st := <-changed; st.Passes != want {
			t.Errorf("notification %d tells of pass %d", want, st.Passes)
		}
	}
}

// Regression test (F23): the host had asked a client a question, and the client left without an answer. The host then
// waited until the deadline. It must give up at once.
func TestQuestionToAClientThatLeftFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		failed := make(chan error, 1)
		r := newRig(t, &scriptedHost{
			transform: func(ctx context.Context, c client.Client, _ schema.TransformParams) (m schema.WireMutation, err error) {
				_, err = c.ModelLimits(ctx, schema.ModelLimitsParams{})
				failed <- err
				return m, err
			},
		})
		ours, theirs := Pipe()
		served := r.serve(ours)
		c := NewClient(theirs, func(_ context.Context, method string, _ json.Value) (any, error) {
			if method == schema.MethodModelLimits {
				close(asked)
				<-release
			}
			return nil, nil
		}, nil)
		defer c.Close(context.Background())
		if err := c.Call(t.Context(), schema.MethodInitialize, hello(), nil); err != nil {
			t.Fatal(err)
		}
		go transform(t.Context(), c, "s", 0, "[]")
		<-asked
		start := time.Now()
		// The client closes only its output and can still read, so the host's writes do not fail.
		if err := theirs.(*halfPipe).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, client.ErrClientLeft) {
			t.Errorf("the question fails with %v, want %v", err, client.ErrClientLeft)
		}
		if elapsed := time.Since(start); elapsed != 0 {
			t.Errorf("the question failed after %v, want at once", elapsed)
		}
		close(release)
		c.Close(context.Background())
		<-served
	})
}

func TestSilentHarnessDoesNotHoldUpAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &scriptedHost{
			transform: func(ctx context.Context, c client.Client, _ schema.TransformParams) (m schema.WireMutation, err error) {
				_, err = c.ModelLimits(ctx, schema.ModelLimitsParams{})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				return m, nil
			},
		})
		withdrawn := make(chan struct{})
		c := r.connect(func(ctx context.Context, method string, _ json.Value) (any, error) {
			if method == schema.MethodCancel {
				close(withdrawn)
				return nil, nil
			}
			<-withdrawn
			return nil, errors.New("too late")
		})
		if err := c.Call(t.Context(), schema.MethodInitialize, hello(), nil); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := transform(t.Context(), c, "s", 0, "[]"); err != nil {
			t.Error(err)
		}
		if elapsed := time.Since(start); elapsed != modelLimitsTimeout {
			t.Errorf("the pass took %v, want %v", elapsed, modelLimitsTimeout)
		}
	})
}

func TestStalledPeerDelaysNoOther(t *testing.T) {
	stuck := newOutbox(writerFunc(func([]byte) (int, error) { select {} }), func(error) {})
	big := make([]byte, maxOutboxBytes)
	for _, put := range []struct {
		bytes []byte
		want  error
	}{{big, nil}, {[]byte("x"), nil}, {[]byte("x"), errPeerStalled}} {
		if err := stuck.put(put.bytes); !errors.Is(err, put.want) {
			t.Errorf("put %d bytes: %v, want %v", len(put.bytes), err, put.want)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The server must end when its input ends.
func FuzzServeConn(f *testing.F) {
	frames := func(bodies ...string) string {
		var b bytes.Buffer
		for _, body := range bodies {
			if err := writeFrame(&b, frame{body: []byte(body)}); err != nil {
				f.Fatal(err)
			}
		}
		return b.String()
	}
	const initialize = `{"id":1,"method":"initialize","params":{"protocol":{"major":1},"harness":"pi","directory":"/"}}`
	f.Add(frames(initialize, `{"method":"session/event","params":{"session":"s","event":{}}}`, `{"id":"a","method":"shutdown"}`))
	f.Add(frames(initialize, `{"id":1,"method":"initialize","params":null}`, `{"method":"$/cancelRequest","params":{"id":1}}`))
	f.Add(frames(`{"id":7,"result":null}`, `{"id":7,"error":{"code":1,"message":""}}`, `{"id":null,"error":{}}`))
	f.Add(frames(`{"id":-1,"method":"status"}`) + "Content-Length: 7\r\nAttachment-Length: 1\r\n\r\n")
	f.Add(frames(`{"id":1e0,"method":"status"}`, `{"id":"\ud800","method":"status","meta":3}`, `{"method":null}`))
	f.Fuzz(func(t *testing.T, data string) {
		server := NewServer(Always(&scriptedHost{}), Options{})
		server.ServeConn(context.Background(), readOnly{strings.NewReader(data)})
	})
}

type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error) { return len(p), nil }
func (readOnly) Close() error                { return nil }
