package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.t = t
	return &sub
}

// playAndTell sets the mock's answers for a session. The channel `arrived` receives a value with each request.
func (w *world) playAndTell(session string, steps ...mockllm.Step) (arrived <-chan struct{}) {
	told := make(chan struct{}, len(steps))
	answer := mockllm.InOrder(steps...)
	w.mock.AddRule(mockllm.Rule{
		Name:  session,
		Match: func(r *mockllm.Request) bool { return r.Session() == session },
		Answer: func(r *mockllm.Request) mockllm.Step {
			told <- struct{}{}
			return answer(r)
		},
	})
	return told
}

func (w *world) abortAfter(oc agent.Agent, session, text string, arrived <-chan struct{}, n int) {
	w.t.Helper()
	idle := w.promptAsync(oc, session, text)
	for range n {
		w.wait(arrived, "a request")
	}
	if err := oc.Abort(w.ctx, session); err != nil {
		w.t.Fatal(err)
	}
	w.wait(idle, "the session to be idle")
}

func (w *world) promptAsync(oc agent.Agent, session, text string) (idle <-chan struct{}) {
	w.t.Helper()
	return w.promptAsyncTo(oc, session, opencodetest.Prompt{Text: text})
}

func (w *world) promptAsyncTo(oc agent.Agent, session string, p opencodetest.Prompt) (idle <-chan struct{}) {
	w.t.Helper()
	idle, err := oc.SendAsync(w.ctx, session, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return idle
}

func (w *world) wait(signal <-chan struct{}, what string) {
	w.t.Helper()
	select {
	case <-signal:
	case <-time.After(time.Minute):
		w.t.Fatal("waited in vain for " + what)
	}
}

// waitForFile waits until a running tool has created the file. The tool runs in another process, and has no other way
// to tell the test that it has started.
func (w *world) waitForFile(path string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	w.t.Fatal("waited in vain for " + path)
}
