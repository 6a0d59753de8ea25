package host

import (
	"context"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A running host deletes the sessions that were not used for long, including those that it holds in memory.
// It keeps the others. If a deleted session is used again, it starts as a new one.
func TestB10HostForgetsExpiredSessions(t *testing.T) {
	h := turn(t)
	old := h.snapshot()
	h.clock.Set(h.clock.Now() + (store.KeptSession + time.Hour).Milliseconds())
	was := h.messages
	h.messages = nil
	h.user("o1", "another matter") // with the same messages it would be a fork, and a fork keeps its original
	fresh := schema.TransformParams{Session: "ses_2", Directory: "/p"}
	if _, err := h.send(fresh); err != nil {
		t.Fatal(err)
	}
	s := NewStandby(t.Context(), StandbyOptions{
		Log: h.host.Log, Offer: func(schema.InitializeParams) schema.InitializeResult { return blank() },
		Open: func(context.Context) (*Host, error) { return h.host, nil },
	})
	if len(old.Units) == 0 {
		t.Fatal("the session has nothing to forget")
	}
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session string
		isKept  bool
	}{{testSession, false}, {"ses_2", true}} {
		if _, found, err := h.store.Load(t.Context(), store.Key{Harness: "opencode", Session: c.session}); err != nil || found != c.isKept {
			t.Errorf("session %s is there: %v, %v; want %v", c.session, found, err, c.isKept)
		}
	}
	h.messages, h.revision, h.told = was, 0, 0
	h.user("u9", "and now")
	if m := h.pass(); m.Cause != "first-pass" {
		t.Errorf("the deleted session goes on with %s %s", m.Verdict, m.Cause)
	}
}

// Tidying ends with its context, even during a pause.
func TestB10TidyingEndsWithItsContext(t *testing.T) {
	h := turn(t)
	s := NewStandby(t.Context(), StandbyOptions{
		Log: h.host.Log, Offer: func(schema.InitializeParams) schema.InitializeResult { return blank() },
		Open: func(context.Context) (*Host, error) { return h.host, nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.KeepTidy(ctx)
		close(ended)
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("tidying goes on without its context")
	}
}
