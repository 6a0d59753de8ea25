package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// patience is the longest time that an action may take. It is long, because the machine may be busy.
const patience = 20 * time.Second

func returns(t *testing.T, what string, action func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		action()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s does not return", what)
	}
}

// A stranger's repository may configure a pattern that can match in 2^60 ways, and the rules match it against every
// tool and path. The pass must still end in time.
func TestHostileClonePatternsEndThePass(t *testing.T) {
	hostile := []string{strings.Repeat("{,}", 60) + "x", "**/" + strings.Repeat("*a", 120) + "b", strings.Repeat("{a,", 80) + strings.Repeat("}", 80)}
	h := newHarness(t)
	h.config.AutoDrop.ProtectedTools = hostile
	h.config.AutoDrop.ProtectedPaths = hostile
	h.restart()
	h.user("msg_1", "read")
	for i := range 20 { // the same file again and again, so that the rule about duplicates has work
		now := h.clock.Now()
		h.add(`{"info":{"id":"msg_%[1]d","sessionID":"ses_1","role":"assistant","time":{"created":%[2]d,"completed":%[2]d},"providerID":"anthropic","modelID":"m","finish":"tool-calls",`+
			`"tokens":{"input":10000,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"p-%[1]d","type":"tool","callID":"c-%[1]d","tool":"read",`+
			`"state":{"status":"completed","input":{"filePath":"/p/docs/file.md"},"output":"text"}}]}`, i+2, now)
	}
	h.user("msg_99", "and now?")
	returns(t, "a pass", func() { h.pass() })
}

// A stuck client never answers a question about models, even after the end of the call's context.
type stuck struct {
	mute
	asked, answer chan struct{}
}

func (c *stuck) ModelLimits(context.Context, schema.ModelLimitsParams) (schema.ModelLimits, error) {
	close(c.asked)
	<-c.answer
	return schema.ModelLimits{}, errors.New("too late")
}

func runStuck(t *testing.T, s *Standby) {
	t.Helper()
	c := &stuck{asked: make(chan struct{}), answer: make(chan struct{})}
	initialize(t, s, c)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		message := `[{"info":{"id":"msg_1","sessionID":"ses_stuck","role":"user","model":{"providerID":"a","modelID":"m"}},"parts":[{"id":"prt_1","type":"text","text":"one"}]}]`
		_, _ = s.Transform(t.Context(), c, schema.TransformParams{Session: "ses_stuck", Directory: "/p", Messages: []byte(message)})
	}()
	t.Cleanup(func() {
		close(c.answer)
		<-ended
	})
	select {
	case <-c.asked:
	case <-ended:
		t.Fatal("the pass did not ask for the model's limits")
	}
}

func TestHostileCloneCloseGivesUpOnAPassThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	s := newStandby(t, t.TempDir())
	runStuck(t, s)
	returns(t, "Close", s.Close)
}

func TestHostileCloneCallsOfABusySessionEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := newStandby(t, t.TempDir())
	runStuck(t, s)
	c := &mute{}
	initialize(t, s, c)
	h, release, err := s.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("nobody waits any longer")
	cancel(reason)
	calls := map[string]func() error{
		"command": func() error {
			_, err := h.CommandExecute(ctx, c, schema.CommandExecuteParams{Session: "ses_stuck", Directory: "/p", Command: "ctx-flush"})
			return err
		},
		"system": func() error {
			_, err := h.System(ctx, c, schema.SystemParams{Session: "ses_stuck", Directory: "/p", System: []string{"You are an agent."}})
			return err
		},
		"tool": func() error {
			_, err := h.ToolExecute(ctx, c, schema.ToolExecuteParams{Session: "ses_stuck", Directory: "/p", Tool: mode.ReduceTool})
			return err
		},
	}
	for name, call := range calls {
		returns(t, name, func() {
			if err := call(); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

// After the store has failed, a Standby waits for all running calls before it opens the store again. If one of these
// calls is stuck, initialize must still get an answer.
func TestHostileCloneInitializeDoesNotWaitForAStuckPass(t *testing.T) {
	t.Parallel()
	s := newStandby(t, t.TempDir())
	runStuck(t, s)
	s.host.guard.Wrote(store.ErrCannotPersist)
	c := &mute{}
	returns(t, "initialize", func() { initialize(t, s, c) })
	returns(t, "status", func() {
		if _, err := s.Status(t.Context(), c, schema.StatusParams{}); err != nil {
			t.Errorf("status: %v", err)
		}
	})
}

func TestHostileClonePassNoticesItsDeadline(t *testing.T) {
	h := newHarness(t)
	h.user("msg_1", "one")
	ctx, cancel := context.WithCancelCause(t.Context())
	h.ctx = ctx
	late := errors.New("the deadline has passed")
	h.host = New(Options{
		Store: h.store, Clock: clock.NewManual(1_700_000_000_000), Log: h.host.Log,
		LoadConfig: func(schema.Harness, string) (schema.Config, []config.Warning) {
			return h.config, nil
		},
	})
	if _, err := h.host.Initialize(t.Context(), h, openP); err != nil {
		t.Fatal(err)
	}
	h.limitsAsked = func() { cancel(late) }
	if _, err := h.transform(); !errors.Is(err, late) {
		t.Errorf("the pass ends with %v", err)
	}
	if n := len(h.journal()); n != 0 {
		t.Errorf("%d passes were stored", n)
	}
}

func TestRefusedTransformsNameTheRemedy(t *testing.T) {
	for _, test := range []struct {
		params schema.TransformParams
		want   string
	}{
		{schema.TransformParams{Keep: 5, Messages: json.Value(`[]`)}, "send keep 0"},
		{schema.TransformParams{Keep: -5, Messages: json.Value(`[]`)}, "a number of messages"},
		{schema.TransformParams{Base: 1, Keep: -5, Messages: json.Value(`[]`)}, "a number of messages"},
		{schema.TransformParams{Messages: json.Value(`[` + strings.Repeat("[", 10_100) + strings.Repeat("]", 10_100) + `]`)}, "take that message back"},
	} {
		h := newHarness(t)
		test.params.Session, test.params.Directory = "ses_1", t.TempDir()
		if _, err := h.host.Transform(h.ctx, h, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
	}
}
