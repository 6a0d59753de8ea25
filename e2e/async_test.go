package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mockllm"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
)

// in returns the world as a subtest sees it.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.t = t
	return &sub
}

// playAndTell plays steps in a session, and tells of each request when it arrives.
func (w *world) playAndTell(session string, steps ...mockllm.Step) (arrived <-chan struct{}) {
	told := make(chan struct{}, len(steps))
	answer := mockllm.InOrder(steps...)
	w.mock.AddRule(mockllm.Rule{
		Name:  session,
		Match: func(r *mockllm.Request) bool { return r.Header.Get(sessionHeader) == session },
		Answer: func(r *mockllm.Request) mockllm.Step {
			told <- struct{}{}
			return answer(r)
		},
	})
	return told
}

// abortAfter prompts and aborts the turn when its n-th request has arrived.
func (w *world) abortAfter(oc *opencodetest.OpenCode, session, text string, arrived <-chan struct{}, n int) {
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

// promptAsync starts a turn; the channel is closed when the session is idle.
func (w *world) promptAsync(oc *opencodetest.OpenCode, session, text string) (idle <-chan struct{}) {
	w.t.Helper()
	events, err := oc.Events(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			var p struct {
				SessionID string `json:"sessionID"`
			}
			if e.Type == "session.idle" && json.Unmarshal(e.Properties, &p) == nil && p.SessionID == session {
				return
			}
		}
	}()
	if err := oc.PromptAsync(w.ctx, session, opencodetest.Prompt{Text: text}); err != nil {
		w.t.Fatal(err)
	}
	return done
}

func (w *world) wait(signal <-chan struct{}, what string) {
	w.t.Helper()
	select {
	case <-signal:
	case <-time.After(time.Minute):
		w.t.Fatal("waited in vain for " + what)
	}
}

// waitForFile waits for what a tool has left on disk, which is all it can signal with.
func (w *world) waitForFile(path string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	w.t.Fatal("waited in vain for " + path)
}
