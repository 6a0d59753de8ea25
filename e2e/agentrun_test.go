package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	hidden "github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func TestAgentRuns(t *testing.T)   { testAgentRuns(t, schema.HarnessOpenCode) }
func TestPiAgentRuns(t *testing.T) { testAgentRuns(t, schema.HarnessPi) }

const maxOutput = 987

const agentSystem = "You summarise for a test."

// testAgentRuns runs a hidden agent in the real harness while a turn of the user's session is running. The user's
// session must not change. The host runs inside the test's process, so that the test can call it directly.
func testAgentRuns(t *testing.T, h schema.Harness) {
	needs(t, h)
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	ours := w.serve()
	oc := w.launch(w.withPlugin())
	t.Cleanup(ours.kill) // our host is this process, so stop it before the world kills the host's process
	session := w.session(oc)
	a := &agents{w: w, host: ours.Host, session: session}

	arrived := w.playAndTell(session, w.readNotes("toolu_1"), mockllm.Say("It says 41."), mockllm.Step{Hang: true}, mockllm.Say("Still 41."))
	w.prompt(oc, session, "What do the notes say?")
	w.wait(arrived, "the first request")
	w.wait(arrived, "the second request")

	idle := w.promptAsync(oc, session, "Are you sure?")
	w.wait(arrived, "the request of a turn that lasts")
	a.lease = hidden.Lease{Store: ours.store, Work: store.HistorianOf(store.Key{Harness: string(h), Session: session}), Holder: "test"}
	if acquired, err := a.lease.Acquire(w.ctx); err != nil || !acquired {
		t.Fatal(acquired, err)
	}
	a.answers()
	select {
	case <-idle:
		t.Error("the turn of the user has ended with the run")
	default:
	}
	if err := oc.Abort(w.ctx, session); err != nil {
		t.Fatal(err)
	}
	w.wait(idle, "the session to be idle")

	a.fails("a provider's error", mockllm.Fail(http.StatusForbidden, "permission_error", "no credit left"), ask.Other, "no credit left")
	a.fails("overflow", mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), ask.Overflow, "too long")
	a.isUnknown()
	a.isAborted()
	a.missesItsDeadline()

	w.prompt(oc, session, "And now?")
	w.wantExtended(session)
	checkTags(t, w.requests(session))
	for _, r := range w.requests(session) {
		if bytes.Contains(r.Body, []byte("magicctx-historian")) {
			t.Errorf("request %d tells the user's model of the hidden agent", r.Seq)
		}
	}
	w.wantOnly(oc, session)
	if status, err := ours.SessionStatus(w.ctx, nil, schema.SessionStatusParams{Harness: h, Session: session}); err != nil || status.Passes != len(w.requests(session)) {
		t.Errorf("the host has seen %d passes, want %d: %v", status.Passes, len(w.requests(session)), err)
	}
	if all, err := ours.Status(w.ctx, nil, schema.StatusParams{}); err != nil || len(all.Sessions) != 1 {
		t.Errorf("the host knows %d sessions, want that of the user: %v", len(all.Sessions), err)
	}

	a.survivesNoKill(ours)
	w.wantOnly(oc, session)
	if o, ok := oc.(*agent.OpenCode); ok {
		w.removesOrphans(o, session)
	}
}

type servingHost struct {
	*host.Host
	store *store.Store
	kill  func()
}

func (w *world) serve() servingHost {
	w.t.Helper()
	w.t.Setenv("XDG_RUNTIME_DIR", w.user.Home.Runtime)
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(w.ctx, store.Options{Dir: w.user.DataDir, Log: log, Clock: clock.System{}})
	if err != nil {
		w.t.Fatal(err)
	}
	endpoint, err := daemon.NewEndpoint(w.user.DataDir)
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := daemon.LockHost(w.ctx, endpoint)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := lock.Listen(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	h := host.New(host.Options{
		Store: db, Clock: clock.System{}, Log: log,
		LoadConfig: func(schema.Harness, string) (schema.Config, []config.Warning) { return config.Default(), nil },
	})
	server := rpc.NewServer(rpc.Always(h), rpc.Options{Log: log})
	var mu sync.Mutex
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			serving.Go(func() { server.ServeConn(w.ctx, conn) })
		}
	})
	// kill cuts all connections without sending an answer, like a crash.
	kill := sync.OnceFunc(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
		_ = db.Close()
		lock.Release()
	})
	return servingHost{h, db, kill}
}

type agents struct {
	w       *world
	host    *host.Host
	session string
	lease   hidden.Lease
	asked   int // the number of runs for which the provider has a rule
}

func (a *agents) script(step mockllm.Step) (ask.Request, <-chan struct{}) {
	a.asked++
	system := agentSystem + " " + strings.Repeat("I", a.asked) + "."
	arrived := make(chan struct{}, 10)
	a.w.mock.AddRule(mockllm.Rule{
		Name: system, Match: mockllm.SystemContains(system),
		Answer: func(*mockllm.Request) mockllm.Step {
			arrived <- struct{}{}
			return step
		},
	})
	return ask.Request{
		Agent: "magicctx-historian", Model: opencodetest.ClaudeModel, System: system, Prompt: "Summarise §1§ «this».", MaxOutput: maxOutput, Timeout: time.Minute,
	}, arrived
}

func (a *agents) run(ctx context.Context, q ask.Request) (ask.Answer, error) {
	return hidden.Asker{Runner: a.host.Agents(), Harness: a.w.harness, Directory: a.w.project, Session: a.session, Title: "history 1-4", Lease: a.lease}.Ask(ctx, q)
}

func (a *agents) requests(r ask.Request) []*mockllm.Request { return a.w.requests(r.System) }

func (a *agents) answers() {
	w := a.w
	w.t.Helper()
	run, _ := a.script(mockllm.Say("A summary."))
	got, err := a.run(w.ctx, run)
	if err != nil {
		w.t.Fatal(err)
	}
	if got.Text != "A summary." || got.Model != opencodetest.ClaudeModel || got.Usage.Input+got.Usage.CacheRead+got.Usage.CacheWrite == 0 || got.Usage.Output == 0 {
		w.t.Errorf("got %+v", got)
	}
	requests := a.requests(run)
	if len(requests) != 1 {
		w.t.Fatalf("%d requests, want 1", len(requests))
	}
	r := requests[0]
	if bound := fmt.Sprintf(`"max_tokens":%d,`, maxOutput); !bytes.Contains(r.Body, []byte(bound)) {
		w.t.Errorf("the answer is not bounded: %.300s", r.Body)
	}
	if len(r.Tools) > 0 {
		w.t.Errorf("the agent has the tools %q", r.Tools)
	}
	if r.SystemContains(guidanceHeading) || r.Session() == a.session {
		w.t.Errorf("session %s, system prompt %.300q", r.Session(), r.System)
	}
	if len(r.Messages) != 1 || len(r.Messages[0].Content) != 1 || r.Messages[0].Content[0].Text != run.Prompt {
		w.t.Errorf("messages %+v", r.Messages)
	}
}

func (a *agents) fails(what string, step mockllm.Step, kind ask.Kind, message string) {
	a.w.t.Helper()
	run, _ := a.script(step)
	_, err := a.run(a.w.ctx, run)
	a.want(what, kind, message, err)
}

func (a *agents) isUnknown() {
	a.w.t.Helper()
	run, _ := a.script(mockllm.Say("no"))
	run.Model = "mock/claude-mok-5-0"
	_, err := a.run(a.w.ctx, run)
	a.want("an unknown model", ask.UnknownModel, "mock/claude-mok-5-0", err)
	var failed *ask.Error
	if a.w.harness == schema.HarnessOpenCode && errors.As(err, &failed) && failed.Suggestion != opencodetest.ClaudeModel {
		a.w.t.Errorf("OpenCode suggests %q", failed.Suggestion)
	}
	if n := len(a.requests(run)); n != 0 {
		a.w.t.Errorf("%d requests with an unknown model", n)
	}
}

func (a *agents) isAborted() {
	a.w.t.Helper()
	run, arrived := a.script(mockllm.Step{Hang: true})
	abandoned := a.w.mock.Abandoned()
	ctx, cancel := context.WithCancel(a.w.ctx)
	go func() {
		<-arrived
		cancel()
	}()
	_, err := a.run(ctx, run)
	a.want("an aborted run", ask.Aborted, "", err)
	a.w.wait(abandoned, "the provider's request to end")
}

func (a *agents) missesItsDeadline() {
	a.w.t.Helper()
	run, _ := a.script(mockllm.Step{Hang: true})
	run.Timeout = 2 * time.Second
	_, err := a.run(a.w.ctx, run)
	a.want("a run without an answer", ask.TimedOut, "", err)
}

// survivesNoKill checks that the agent's run in the harness ends when the host is killed.
func (a *agents) survivesNoKill(ours servingHost) {
	a.w.t.Helper()
	run, arrived := a.script(mockllm.Step{Hang: true})
	abandoned := a.w.mock.Abandoned()
	done := make(chan error, 1)
	go func() {
		_, err := a.run(a.w.ctx, run)
		done <- err
	}()
	a.w.wait(arrived, "the agent's request")
	ours.kill()
	a.w.wait(abandoned, "the provider's request to end")
	a.want("a run whose host is killed", ask.Aborted, "", <-done)
}

func (a *agents) want(what string, kind ask.Kind, message string, err error) {
	a.w.t.Helper()
	var failed *ask.Error
	if !errors.As(err, &failed) || failed.Kind != kind || !strings.Contains(failed.Error(), message) {
		a.w.t.Errorf("%s: got %v, want kind %s and %q", what, err, kind, message)
	}
}

// wantOnly waits until OpenCode has exactly these sessions. In Pi, it checks nothing, because a hidden agent creates no
// session there.
func (w *world) wantOnly(oc agent.Agent, want ...string) {
	w.t.Helper()
	o, ok := oc.(*agent.OpenCode)
	if !ok {
		return
	}
	slices.Sort(want)
	var got []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var sessions []opencodetest.Session
		if err := o.Call(w.ctx, http.MethodGet, "/session", nil, &sessions); err != nil {
			w.t.Fatal(err)
		}
		got = nil
		for _, s := range sessions {
			got = append(got, s.ID)
		}
		if slices.Sort(got); slices.Equal(got, want) {
			return
		}
	}
	w.t.Errorf("OpenCode has the sessions %q, want %q", got, want)
}

// If OpenCode is killed, the child session of its hidden agent stays behind. removesOrphans checks that the plugin
// removes such a session the next time OpenCode loads the plugin.
func (w *world) removesOrphans(o *agent.OpenCode, session string) {
	w.t.Helper()
	create := func(s opencodetest.NewSession) string {
		created, err := o.CreateSession(w.ctx, s)
		if err != nil {
			w.t.Fatal(err)
		}
		return created.ID
	}
	// These titles name a process that cannot exist, because no operating system gives a process the number 2147483647.
	// So the session looks like one that a killed plugin has left behind.
	orphan := create(opencodetest.NewSession{Title: "magicctx: history 1-4 (process 2147483647)", ParentID: session})
	mine := create(opencodetest.NewSession{Title: "magicctx: mine (process 2147483647)"})
	child := create(opencodetest.NewSession{Title: "magicctx: mine", ParentID: session})
	w.wantOnly(o, session, orphan, mine, child)
	if err := o.Call(w.ctx, http.MethodPost, "/instance/dispose", nil, nil); err != nil {
		w.t.Fatal(err)
	}
	w.wantOnly(o, session, mine, child) // the first request of an OpenCode starts the plugin
}
