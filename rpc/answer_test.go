package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

func TestPayloadsPassByteForByte(t *testing.T) {
	// JavaScript writes JSON that Go's encoding/json would change: lone surrogates, HTML characters, members in any
	// order, long numbers, escaped slashes. The host must pass all of it on unchanged.
	const odd = `{"z":"a\ud800b <&> \u2028 \/","a":1.0,"n":12345678901234567890}`
	const messages = "[" + odd + ", \n" + odd + "]"
	const text = "<b> & \u2028"
	var got schema.TransformParams
	r := newRig(t, &scriptedHost{
		transform: func(_ context.Context, _ client.Client, p schema.TransformParams) (m schema.WireMutation, err error) {
			got = p
			m.Head = append(m.Head, raw(odd))
			return m, nil
		},
		textComplete: func(_ context.Context, p schema.TextCompleteParams) (schema.TextCompleteResult, error) {
			return schema.TextCompleteResult{Text: p.Text}, nil
		},
	})
	c := r.open()

	m, err := transform(patience(t), c, "s", 7, messages)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Messages) != messages {
		t.Errorf("messages arrived as %s, want %s", got.Messages, messages)
	}
	if got.Session != "s" || got.Base != 7 || got.Directory != "/work" {
		t.Errorf("params arrived as %+v", got)
	}
	if len(m.Head) != 1 || string(m.Head[0]) != odd {
		t.Errorf("head came back as %s, want %s", m.Head, odd)
	}
	var done schema.TextCompleteResult
	mustCall(t, c, schema.MethodTextComplete, schema.TextCompleteParams{Session: "s", Text: text}, &done)
	if done.Text != text {
		t.Errorf("text came back as %q, want %q", done.Text, text)
	}
}

func TestBadRequestsAreNamed(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	c := r.open()
	type any0 = map[string]any
	for _, test := range []struct {
		name   string
		method string
		params any
		code   int
		want   []string
	}{
		{"method", "session/dance", any0{}, -32601, []string{"session/dance"}},
		{"type of a field", schema.MethodTextComplete, any0{"session": 5}, -32602, []string{"text/complete", `"/session"`}},
		{"type of a nested field", schema.MethodSystem, any0{"session": "s", "model": any0{"id": true}}, -32602, []string{"session/system", `"/model/id"`}},
		{"no object", schema.MethodSystem, []int{1}, -32602, []string{"session/system"}},
		{"no session", schema.MethodToolExecute, any0{"tool": "x"}, -32602, []string{"tool/execute", "/session is missing"}},
		{"no attachment", schema.MethodTransform, any0{"session": "s"}, -32602, []string{"session/transform", "attachment"}},
		{"cancel without id", schema.MethodCancel, any0{}, -32602, []string{"$/cancelRequest", "/id"}},
		{"unknown harness", schema.MethodInitialize, any0{"protocol": any0{"major": 1}, "harness": "emacs"}, -32602, []string{"/harness", "emacs"}},
		{"no directory", schema.MethodInitialize, any0{"protocol": any0{"major": 1}, "harness": "pi"}, -32602, []string{"/directory is missing"}},
		{"a relative directory", schema.MethodInitialize, any0{"protocol": any0{"major": 1}, "harness": "pi", "directory": "../x"}, -32602, []string{`/directory is "../x"`, "absolute path"}},
		{"a zero byte", schema.MethodInitialize, any0{"protocol": any0{"major": 1}, "harness": "pi", "directory": "/x\x00y"}, -32602, []string{"/directory holds a zero byte", "absolute path"}},
		{"second harness", schema.MethodInitialize, any0{"protocol": any0{"major": 1}, "harness": "pi", "directory": "/x"}, -32600, []string{"opencode", "pi"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := wantCode(t, c.Call(patience(t), test.method, test.params, nil), test.code)
			for _, part := range test.want {
				if !strings.Contains(e.Message, part) {
					t.Errorf("message %q does not name %s", e.Message, part)
				}
			}
		})
	}
	t.Run("attachment where none belongs", func(t *testing.T) {
		err := c.CallWithAttachment(patience(t), schema.MethodStatus, schema.StatusParams{}, []byte("[]"), nil)
		wantCode(t, err, -32602)
	})
	t.Run("session before initialize", func(t *testing.T) {
		fresh := r.connect(nil)
		err := fresh.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
		wantCode(t, err, -32600)
		mustCall(t, fresh, schema.MethodStatus, nil, nil)
	})
}

func TestOtherProtocolIsRefusedWithARemedy(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	for _, test := range []struct {
		major  int
		remedy string
	}{
		{schema.ProtocolMajor + 1, "update magicctx-host"},
		{schema.ProtocolMajor - 1, "update opencode-shim"},
	} {
		p := hello()
		p.Protocol = schema.Version{Major: test.major, Minor: 3}
		p.ClientVersion = "9.8.7"
		e := wantCode(t, r.connect(nil).Call(patience(t), schema.MethodInitialize, p, nil), schema.CodeVersion)
		for _, part := range []string{fmt.Sprintf("%d.3", test.major), "1.0", "9.8.7", Version, test.remedy} {
			if !strings.Contains(e.Message, part) {
				t.Errorf("protocol %d: message %q does not contain %q", test.major, e.Message, part)
			}
			if log := r.log.String(); !strings.Contains(log, part) {
				t.Errorf("protocol %d: the host's log does not contain %q:\n%s", test.major, part, log)
			}
		}
	}
}

func TestNewerMinorIsServed(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	p := hello()
	p.Protocol.Minor += 7
	var res schema.InitializeResult
	mustCall(t, r.connect(nil), schema.MethodInitialize, p, &res)
	if res.Protocol != protocol || res.HostVersion != Version || res.HostPID == 0 {
		t.Errorf("result %+v does not say what the host is", res)
	}
}

type codedError struct{ error }

func (codedError) RPCCode() int { return schema.CodeResync }

func TestErrorsBecomeCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{codedError{errors.New("base 7 is not held")}, schema.CodeResync},
		{fmt.Errorf("transform: %w", codedError{errors.New("x")}), schema.CodeResync},
		{context.Canceled, schema.CodeCancelled},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), schema.CodeTimeout},
		{errors.New("disk on fire"), -32603},
		// If the harness answers a question of the host with an error, the host must not pass on the error's code as
		// its own.
		{fmt.Errorf("limits: %w", &Error{Method: "models/limits", Code: -32601}), -32603},
	} {
		r := newRig(t, &scriptedHost{
			transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
				return m, test.err
			},
		})
		_, err := transform(patience(t), r.open(), "s", 0, "[]")
		if e := wantCode(t, err, test.want); !strings.Contains(e.Message, test.err.Error()) {
			t.Errorf("message %q does not contain %q", e.Message, test.err)
		}
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	r := newRig(t, &scriptedHost{
		transform: func(_ context.Context, _ client.Client, p schema.TransformParams) (m schema.WireMutation, err error) {
			if p.Base == 1 {
				panic("the tail has no head")
			}
			return m, nil
		},
	})
	c := r.open()
	_, err := transform(patience(t), c, "s", 1, "[]")
	wantCode(t, err, -32603)
	for _, part := range []string{"the tail has no head", "answer_test.go", "session=s"} {
		if !strings.Contains(r.log.String(), part) {
			t.Errorf("log does not contain %q:\n%s", part, r.log)
		}
	}
	if _, err := transform(patience(t), c, "s", 2, "[]"); err != nil {
		t.Errorf("the session is not served after a panic: %v", err)
	}
}

func TestAnswerTooLargeIsAnError(t *testing.T) {
	r := newRig(t, &scriptedHost{
		textComplete: func(context.Context, schema.TextCompleteParams) (schema.TextCompleteResult, error) {
			return schema.TextCompleteResult{Text: strings.Repeat("x", schema.MaxBodyBytes)}, nil
		},
	})
	c := r.open()
	wantCode(t, c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil), -32603)
	mustCall(t, c, schema.MethodStatus, nil, nil)
}

func TestCancelAnswersAtOnceAndTheLaneWaits(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	release := make(chan struct{})
	var cause error
	r := newRig(t, &scriptedHost{
		transform: func(ctx context.Context, _ client.Client, _ schema.TransformParams) (m schema.WireMutation, err error) {
			close(began)
			<-ctx.Done()
			cause = context.Cause(ctx)
			<-release // the handler needs a moment to return
			close(ended)
			return m, fmt.Errorf("work: %w", cause)
		},
		textComplete: func(context.Context, schema.TextCompleteParams) (res schema.TextCompleteResult, err error) {
			select {
			case <-ended:
			default:
				t.Error("the next call ran while the cancelled one was at work")
			}
			return res, nil
		},
	})
	c := r.open()
	ctx, cancel := context.WithCancel(patience(t))
	passed := make(chan error, 1)
	go func() {
		_, err := transform(ctx, c, "s", 0, "[]")
		passed <- err
	}()
	wait(t, "the pass to begin", began)

	// If the client withdrew the call, it would no longer wait for the answer, and the test could not check the
	// answer. So the test itself sends the notification that cancels the call.
	if err := c.Notify(schema.MethodCancel, schema.CancelParams{ID: raw("2")}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-passed, schema.CodeCancelled)
	cancel()

	next := make(chan error, 1)
	go func() {
		next <- c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
	}()
	mustCall(t, c, schema.MethodStatus, nil, nil) // a faulty lane would run the next call now
	close(release)
	if err := <-next; err != nil {
		t.Error(err)
	}
	if !errors.Is(cause, errCancelled) {
		t.Errorf("handler was ended by %v, want %v", cause, errCancelled)
	}
	if log := r.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("a call that the client withdrew is no error:\n%s", log)
	}
}

func TestCancelledWhileWaitingNeverRuns(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, &scriptedHost{
		transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
			close(began)
			<-release
			return m, nil
		},
		textComplete: func(_ context.Context, p schema.TextCompleteParams) (res schema.TextCompleteResult, err error) {
			if p.Text == "withdrawn" {
				t.Error("a withdrawn call ran")
			}
			return res, nil
		},
	})
	c := r.open()
	go transform(patience(t), c, "s", 0, "[]")
	wait(t, "the pass to begin", began)
	ctx, cancel := context.WithCancel(patience(t))
	time.AfterFunc(time.Millisecond, cancel)
	err := c.Call(ctx, schema.MethodTextComplete, schema.TextCompleteParams{Session: "s", Text: "withdrawn"}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	mustCall(t, c, schema.MethodStatus, nil, nil) // after this round trip, the cancel has been read
	close(release)
	mustCall(t, c, schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
}

func TestMissedDeadlineIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, &scriptedHost{
			initialize: func(schema.InitializeParams) (schema.InitializeResult, error) {
				return schema.InitializeResult{TransformTimeoutMS: 2000, ResyncTimeoutMS: 9000}, nil
			},
			transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
				<-release // the handler ignores its context
				return m, nil
			},
		})
		c := r.open()
		for _, test := range []struct {
			session string
			base    uint64
			want    time.Duration
		}{{"delta", 1, 2 * time.Second}, {"whole", 0, 9 * time.Second}} {
			start := time.Now()
			_, err := transform(t.Context(), c, test.session, test.base, "[]")
			wantCode(t, err, schema.CodeTimeout)
			if elapsed := time.Since(start); elapsed != test.want {
				t.Errorf("%s: answered after %v, want %v", test.session, elapsed, test.want)
			}
			// The next call waits for the stuck one, and misses its own deadline. Calls of other sessions do not wait.
			start = time.Now()
			err = c.Call(t.Context(), schema.MethodTextComplete, schema.TextCompleteParams{Session: test.session}, nil)
			wantCode(t, err, schema.CodeTimeout)
			if elapsed := time.Since(start); elapsed != defaultDeadline {
				t.Errorf("%s: next call answered after %v, want %v", test.session, elapsed, defaultDeadline)
			}
			if err := c.Call(t.Context(), schema.MethodTextComplete, schema.TextCompleteParams{Session: "other"}, nil); err != nil {
				t.Errorf("other session: %v", err)
			}
		}
		close(release)
		if err := c.Call(t.Context(), schema.MethodTextComplete, schema.TextCompleteParams{Session: "delta"}, nil); err != nil {
			t.Errorf("after the late handler returned: %v", err)
		}
	})
}

func TestHandlerCanStillFallBackAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &scriptedHost{
			transform: func(ctx context.Context, _ client.Client, _ schema.TransformParams) (schema.WireMutation, error) {
				<-ctx.Done()
				return schema.WireMutation{Revision: 5}, nil
			},
		})
		m, err := transform(t.Context(), r.open(), "s", 1, "[]")
		if err != nil || m.Revision != 5 {
			t.Errorf("got revision %d and error %v, want the fallback", m.Revision, err)
		}
	})
}

// An event must not be lost, even if it has to wait for a busy session. So its deadline begins only when it runs.
func TestEventOutlastsABusySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan error, 1)
		r := newRig(t, &scriptedHost{
			transform: func(ctx context.Context, _ client.Client, _ schema.TransformParams) (m schema.WireMutation, err error) {
				time.Sleep(3 * defaultDeadline)
				return m, nil
			},
			event: func(ctx context.Context, _ schema.EventParams) { heard <- ctx.Err() },
		})
		c := r.open()
		go transform(t.Context(), c, "s", 0, "[]")
		synctest.Wait()
		if err := c.Notify(schema.MethodEvent, schema.EventParams{Session: "s", Event: raw("{}")}); err != nil {
			t.Fatal(err)
		}
		if err := <-heard; err != nil {
			t.Errorf("event ran with an ended context: %v", err)
		}
	})
}
