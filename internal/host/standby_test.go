package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/file"
)

type mute struct{ name string }

type shower struct {
	mute
	shown chan string
	err   error
}

func (c *shower) Show(_ context.Context, p schema.NotifyShowParams) error {
	c.shown <- p.Directory + ": " + p.Message
	return c.err
}

func (*mute) ModelLimits(context.Context, schema.ModelLimitsParams) (schema.ModelLimits, error) {
	return schema.ModelLimits{}, errors.New("mute")
}
func (*mute) Show(context.Context, schema.NotifyShowParams) error { return nil }
func (*mute) RunAgent(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
	return schema.AgentRunResult{}, errors.New("mute")
}
func (*mute) AbortAgent(context.Context, schema.AgentAbortParams) error { return nil }
func (*mute) SessionChanged([]byte)                                     {}

var openP = schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}

func storeOptions(dir string) store.Options {
	return store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.NewManual(1_700_000_000_000)}
}

func newStandby(t *testing.T, dir string) *Standby {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	loadConfig := func(schema.Harness, string) (schema.Config, []config.Warning) { return config.Default(), nil }
	s := NewStandby(t.Context(), StandbyOptions{
		Path: file.PathIn(dir), Log: log,
		Open: func(ctx context.Context) (*Host, error) {
			db, err := store.Open(ctx, storeOptions(dir))
			if err != nil {
				return nil, err
			}
			return New(Options{Store: db, Clock: clock.NewManual(1_700_000_000_000), Log: log, LoadConfig: loadConfig}), nil
		},
		Offer: func(schema.InitializeParams) schema.InitializeResult { return Offer(config.Default()) },
	})
	t.Cleanup(s.Close)
	return s
}

func initialize(t *testing.T, s *Standby, c client.Client) schema.InitializeResult {
	t.Helper()
	r, err := s.Initialize(t.Context(), c, openP)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func transformOne(t *testing.T, s *Standby, c client.Client) error {
	t.Helper()
	message := `[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user"},"parts":[{"id":"prt_1","type":"text","text":"one"}]}]`
	_, err := s.Transform(t.Context(), c, schema.TransformParams{Session: "ses_1", Directory: "/p", Messages: []byte(message)})
	return err
}

func TestHostWithoutAStoreSaysWhyAndRecovers(t *testing.T) {
	dir := t.TempDir()
	owner, err := store.Open(t.Context(), storeOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := newStandby(t, dir)
	first, second := &mute{"first"}, &mute{"second"}
	for _, c := range []client.Client{first, second} {
		r := initialize(t, s, c)
		if r.Enabled || !r.Trouble || !strings.Contains(r.Reason, "in use by another host") || !strings.Contains(r.Reason, "end that process") {
			t.Errorf("initialize: enabled %v, trouble %v, reason %q", r.Enabled, r.Trouble, r.Reason)
		}
		if len(r.Tools) == 0 || len(r.Commands) == 0 || r.TransformTimeoutMS == 0 {
			t.Errorf("nothing is offered for the time after: %+v", r)
		}
	}
	var coded interface{ RPCCode() int }
	if err := transformOne(t, s, first); !errors.As(err, &coded) || coded.RPCCode() != schema.CodeDisabled {
		t.Errorf("a pass fails with %v", err)
	}
	status, err := s.Status(t.Context(), first, schema.StatusParams{})
	if err != nil || status.Enabled || !strings.Contains(status.Reason, "in use by another host") {
		t.Errorf("status: enabled %v, reason %q, error %v", status.Enabled, status.Reason, err)
	}

	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	if r := initialize(t, s, first); !r.Enabled || r.Trouble || r.Reason != "" {
		t.Errorf("after the owner has gone: enabled %v, trouble %v, reason %q", r.Enabled, r.Trouble, r.Reason)
	}
	for _, c := range []client.Client{first, second} { // the second client has not called Initialize again
		if err := transformOne(t, s, c); err != nil {
			t.Errorf("a pass of %s: %v", c.(*mute).name, err)
		}
	}
}

func TestDamageIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(file.PathIn(dir), bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStandby(t, dir)
	if r := initialize(t, s, &mute{}); !r.Enabled || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "was damaged") {
		t.Errorf("first: enabled %v, warnings %q", r.Enabled, r.Warnings)
	}
	if r := initialize(t, s, &mute{}); len(r.Warnings) != 0 {
		t.Errorf("second: warnings %q", r.Warnings)
	}
}

// A pass finds that the open database is damaged. The host must run this pass again with a new database, and the user
// must get one notice.
func TestDamageOfTheOpenDatabaseIsRepairedByThePassThatFindsIt(t *testing.T) {
	for name, canShow := range map[string]bool{"told at once": true, "told with the next initialize": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := newStandby(t, dir)
			c := &shower{shown: make(chan string, 9)}
			if !canShow {
				c.err = errors.New("no window")
			}
			initialize(t, s, c)
			if err := transformOne(t, s, c); err != nil {
				t.Fatal(err)
			}
			// The store has the file open, so the test overwrites the file in place. A new file would leave the open
			// one undamaged.
			for _, file := range []string{file.PathIn(dir), file.PathIn(dir) + "-wal"} {
				if err := os.WriteFile(file, bytes.Repeat([]byte("not a database "), 5000), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := transformOne(t, s, c); err != nil {
				t.Fatalf("the pass fails: %v", err)
			}
			if notice := <-c.shown; !strings.HasPrefix(notice, "/p: ") || !strings.Contains(notice, "was damaged") {
				t.Errorf("shown: %q", notice)
			}
			if err := transformOne(t, s, c); err != nil {
				t.Fatal(err)
			}
			status, err := s.Status(t.Context(), c, schema.StatusParams{})
			if err != nil || !status.Enabled || len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0].Message, "it was moved to") {
				t.Errorf("status: %+v, %v", status, err)
			}
			for deadline := time.Now().Add(patience); !canShow && s.host.damageTold.Load(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the failure is not recorded")
				}
			}
			if r := initialize(t, s, c); (len(r.Warnings) == 0) != canShow {
				t.Errorf("initialize: warnings %q", r.Warnings)
			}
			if len(c.shown) != 0 {
				t.Errorf("shown, too: %q", <-c.shown)
			}
		})
	}
}

// A follower is a client that counts the statuses that it gets.
type follower struct {
	mute
	told int
	last []byte
}

func (c *follower) SessionChanged(status []byte) {
	c.told++
	c.last = status
}

// Pi's status line subscribes only once for each connection, so a subscription must outlive a replaced database.
func TestSubscriptionsOutliveTheDatabase(t *testing.T) {
	dir := t.TempDir()
	s := newStandby(t, dir)
	c := &follower{}
	initialize(t, s, c)
	if _, err := s.host.Subscribe(t.Context(), c, schema.SubscribeParams{Harness: schema.HarnessOpenCode, Session: "ses_1"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file.PathIn(dir), file.PathIn(dir) + "-wal"} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("not a database "), 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := transformOne(t, s, c); err != nil {
		t.Fatal(err)
	}
	s.host.background.Wait()
	if c.told != 1 {
		t.Errorf("told %d times of a pass over the new database, want once", c.told)
	}
}

func TestSwitchedOffIsNoTrouble(t *testing.T) {
	dir := t.TempDir()
	s := newStandby(t, dir)
	s.Close()
	s.open = func(context.Context) (*Host, error) { return nil, file.ErrNewerSchema }
	s.offer = func(schema.InitializeParams) schema.InitializeResult {
		cfg := config.Default()
		cfg.Enabled = false
		return Offer(cfg)
	}
	if r := initialize(t, s, &mute{}); r.Enabled || r.Trouble || !strings.Contains(r.Reason, "switched off") {
		t.Errorf("enabled %v, trouble %v, reason %q", r.Enabled, r.Trouble, r.Reason)
	}
}
