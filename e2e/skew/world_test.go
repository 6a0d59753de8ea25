package skew

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const testTimeout = 10 * time.Minute

type world struct {
	t       *testing.T
	harness schema.Harness
	ctx     context.Context
	root    string
	user    *stage.User
	mock    *mockllm.Server
	// `came` is closed when the newer host begins to serve. It is nil if no session waits for the newer host. Only one
	// session can wait at a time, because the mock answers one request at a time.
	came chan struct{}
}

// root must be short: on some systems, the path of a socket is limited to 104 bytes.
func newWorld(t *testing.T, h schema.Harness, root string) *world {
	t.Helper()
	// t.Context would end before the cleanups, which need a context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	user, err := stage.NewUser(root, product)
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Configure(stage.WithoutHistorian); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, harness: h, ctx: ctx, root: root, user: user, mock: mockllm.Start()}
	t.Cleanup(w.mock.Close)
	suite.Judge(t, w.mock)
	return w
}

type process struct {
	agent.Agent
	project string
}

// An OpenCode process serves all n sessions. A Pi process has one session at a time, so each session gets a process of
// its own.
func (w *world) seats(r release, project string, n int) []process {
	w.t.Helper()
	if w.harness != schema.HarnessPi {
		return slices.Repeat([]process{w.start(r, project)}, n)
	}
	var seats []process
	for i := range n {
		seats = append(seats, w.start(r, fmt.Sprint(project, i)))
	}
	return seats
}

// start starts the harness with the shim of a release. OpenCode loads the shim only with its first request, but Pi
// loads it at once.
func (w *world) start(r release, project string) process {
	w.t.Helper()
	dir := filepath.Join(w.root, project)
	if err := opencodetest.NewProject(w.ctx, dir, files); err != nil {
		w.t.Fatal(err)
	}
	p := process{project: dir}
	if w.harness == schema.HarnessPi {
		pi, err := agent.StartPi(w.ctx, w.user.WithPi(r.host, dir, w.mock.URL()))
		if err != nil {
			w.t.Fatal(err)
		}
		p.Agent = pi
	} else {
		oc, err := opencodetest.Start(w.ctx, w.user.WithPlugin(r.host, dir, w.mock.URL()))
		if err != nil {
			w.t.Fatal(err)
		}
		p.Agent = &agent.OpenCode{OpenCode: oc}
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s in %s printed:\n%s", w.harness, project, p.Printed())
		}
	})
	return p
}

func (w *world) end(processes ...process) {
	w.t.Helper()
	for _, p := range processes {
		if err := p.End(); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) tools() script.Tools {
	if w.harness == schema.HarnessPi {
		return script.Pi
	}
	return script.OpenCode
}

func (w *world) destroy(processes ...process) {
	w.t.Helper()
	w.end(processes...)
	if err := w.user.StopHost(w.ctx); err != nil {
		w.t.Error(err)
	}
	if w.t.Failed() {
		for name, text := range w.logs() {
			w.t.Logf("%s:\n%s", name, text[max(0, len(text)-3_000):])
		}
	}
	suite.Remove(w.t, w.root)
}

// session begins a session. The mock answers its requests with the given steps, one after another. Before each answer,
// the mock calls `heard` with the number of the request, counted from 0.
func (w *world) session(oc process, heard func(int), steps ...mockllm.Step) (id string, err error) {
	if id, err = oc.Begin(w.ctx); err != nil {
		return "", err
	}
	answer, n := mockllm.InOrder(steps...), 0
	w.mock.AddRule(mockllm.Rule{
		Name:  id,
		Match: func(r *mockllm.Request) bool { return r.Session() == id },
		Answer: func(r *mockllm.Request) mockllm.Step {
			heard(n)
			n++
			return answer(r)
		},
	})
	return id, nil
}

func (w *world) requests(session string) []*mockllm.Request {
	return slices.DeleteFunc(w.mock.Requests(), func(r *mockllm.Request) bool { return r.Rule != session })
}

// awaitStatus ignores errors: during a takeover, there may be no host, and the clients reconnect one after the other.
func (w *world) awaitStatus(what string, isSo func(schema.StatusResult) bool) schema.StatusResult {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, err := w.user.Status(w.ctx)
		if err == nil && isSo(status) {
			return status
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s: %+v, %v", what, status, err)
		}
	}
}

func serves(status schema.StatusResult, processes ...process) bool {
	var served, want []int
	for _, c := range status.Clients {
		if c.Harness != "" {
			served = append(served, c.PID)
		}
	}
	for _, p := range processes {
		want = append(want, p.Process())
	}
	slices.Sort(served)
	slices.Sort(want)
	want = slices.Compact(want)
	return slices.Equal(served, want)
}

// journal opens the database itself, so no host may be running.
func (w *world) journal(session string) []store.PassRow {
	w.t.Helper()
	s, err := store.Open(w.ctx, store.Options{Dir: w.user.DataDir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	passes, err := s.Reports.Passes(w.ctx, store.Key{Harness: string(w.harness), Session: session}, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return passes
}

func (w *world) logs() map[string]string {
	w.t.Helper()
	logs := map[string]string{}
	for _, dir := range []string{filepath.Join(w.user.Home.Temp, "*"), filepath.Join(w.user.DataDir, "logs")} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				w.t.Fatal(err)
			}
			logs[filepath.Base(path)] = strings.ToValidUTF8(string(raw), "?")
		}
	}
	return logs
}
