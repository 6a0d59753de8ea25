package session

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store"
)

// The oldest session is locked by a call that never returns. Trim must evict other sessions.
func TestHostileCloneTrimPassesOverABusySession(t *testing.T) {
	ss := New(Options{})
	lock := func(name string) *Session {
		s, err := ss.Lock(t.Context(), store.Key{Harness: "opencode", Session: name})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	busy := lock("busy")
	for i := range maxResidentSessions + 5 {
		lock(fmt.Sprint(i)).Unlock()
		ss.Trim()
	}
	if n := len(ss.byKey); n > maxResidentSessions {
		t.Errorf("%d sessions are in memory, the bound is %d", n, maxResidentSessions)
	}
	if !ss.holds(busy) {
		t.Error("the busy session was evicted")
	}
}

// OpenCode 2 announces a new date in a message, so the date does not make its system prompt outdated. The bug: an idle
// session nevertheless lost all bound thinking at midnight.
func TestSystemPromptWithoutADateDoesNotGetOld(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	for name, want := range map[string]bool{"opencode": true, "opencode2": false, "pi": false} {
		codec, _ := transcript.CodecOf(name)
		s := &Session{Pipe: pipeline.NewSession(pipeline.Config{Options: render.Options{Codec: codec}}, pipeline.Meta{}, &frozen.State{})}
		s.Row.System.At = day
		if got := s.IsSystemOld(5 * day); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

func TestForgetKeepsLastingState(t *testing.T) {
	passing, lasting := NewSlot[int](), NewLastingSlot[int]()
	s := &Session{}
	*passing.Of(s), *lasting.Of(s) = 1, 2
	if *passing.Of(s) != 1 || *lasting.Of(s) != 2 {
		t.Errorf("%d and %d are stored", *passing.Of(s), *lasting.Of(s))
	}
	s.Forget()
	if *passing.Of(s) != 0 || *lasting.Of(s) != 2 {
		t.Errorf("%d and %d are left", *passing.Of(s), *lasting.Of(s))
	}
}
