package host

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/retention"
)

// The host deletes an expired session from the database and from its own memory. If the session is used again, it
// starts as a new one.
func TestB10HostForgetsExpiredSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in a bubble, the pauses of a tidy take no time
		h := turn(t)
		old := h.snapshot()
		h.clock.Advance(retention.KeptSession + time.Hour)
		was := h.messages
		h.messages = nil
		h.user("o1", "another matter") // with the same messages, ses_2 would be a fork, and its original would not be deleted
		fresh := schema.TransformParams{Session: "ses_2", Directory: "/p"}
		if _, err := h.send(fresh); err != nil {
			t.Fatal(err)
		}
		if len(old.Units) == 0 {
			t.Fatal("the session has nothing to forget")
		}
		s := standby(t, h)
		for range retention.TrustedTidies {
			must(t, s.tidy(t.Context()))
			h.clock.Advance(tidyEvery)
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
	})
}

// A deleted session first goes to the trash. There, the user can still continue it, until the host deletes it for good.
func TestDeletedSessionRestsInTheTrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := turn(t)
		h.drop("c1", "3")
		h.flush()
		h.pass()
		before := h.snapshot()
		deleted := func() {
			h.event(`{"type":"session.deleted","properties":{"sessionID":"ses_1"}}`)
			if listed := h.status().Sessions; len(listed) > 0 {
				t.Errorf("status lists a deleted session: %v", listed)
			}
		}
		deleted()
		h.told, h.revision = 0, 0
		h.user("u9", "and now")
		if m := h.pass(); m.Cause == "first-pass" {
			t.Error("the session that came back begins anew")
		}
		if after := h.snapshot(); len(after.Edits) != len(before.Edits) || len(h.status().Sessions) != 1 {
			t.Errorf("edits %v, want %v; status lists %d sessions", after.Edits, before.Edits, len(h.status().Sessions))
		}
		deleted()
		s := standby(t, h)
		for i := range retention.TrustedTidies {
			if _, found, err := h.store.Load(t.Context(), testKey); err != nil || !found {
				t.Fatalf("gone after %d tidies, %v", i, err)
			}
			h.clock.Advance(tidyEvery)
			must(t, s.tidy(t.Context()))
		}
		if _, found, err := h.store.Load(t.Context(), testKey); err != nil || found {
			t.Errorf("the session is still there: %v, %v", found, err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func standby(t *testing.T, h *harness) *Standby {
	t.Helper()
	return NewStandby(t.Context(), StandbyOptions{
		Log: h.host.Log, Offer: func(schema.InitializeParams) schema.InitializeResult { return blank() },
		Open: func(context.Context) (*Host, error) { return h.host, nil },
	})
}

// The host starts while the clock is 100 days ahead.
func TestWrongClockDeletesNothing(t *testing.T) {
	const jump = retention.KeptSession + 10*24*time.Hour
	for _, c := range []struct {
		name   string
		before int             // the daily tidies before the session is used
		after  []time.Duration // how far the clock moves before each later tidy
		isKept bool
	}{
		{"the first tidy of all", 0, []time.Duration{jump}, true},
		{"a jump", 20, []time.Duration{jump}, true},
		{"several tidies of the same day after a jump", 20, append([]time.Duration{jump}, slices.Repeat([]time.Duration{time.Minute}, 20)...), true},
		{"a jump there and back", 20, append(slices.Repeat([]time.Duration{jump, -jump}, 20), tidyEvery), true},
		{"the last use was long ago in all clocks", 20, append(slices.Repeat([]time.Duration{tidyEvery}, 90+retention.TrustedTidies), tidyEvery), false},
		{"a host that starts again after a long time", 20, []time.Duration{jump, tidyEvery, tidyEvery}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := turn(t)
				s := standby(t, h)
				for range c.before {
					must(t, s.tidy(t.Context()))
					h.clock.Advance(tidyEvery)
				}
				h.user("again", "and now")
				h.pass()
				units := len(h.snapshot().Units)
				for _, d := range c.after {
					h.clock.Advance(d)
					must(t, s.tidy(t.Context()))
				}
				snap, found, err := h.store.Load(t.Context(), store.Key{Harness: "opencode", Session: testSession})
				must(t, err)
				if found != c.isKept || found && len(snap.Units) != units {
					t.Errorf("the session is there: %v, with %d of %d units", found, len(snap.Units), units)
				}
			})
		})
	}
}

func TestB10TidyingEndsWithItsContext(t *testing.T) {
	h := turn(t)
	s := standby(t, h)
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
