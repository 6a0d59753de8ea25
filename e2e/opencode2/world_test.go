package opencode2_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
)

var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "../..", dir)
		return err
	}))
}

const (
	large = opencodetest.ClaudeModel
	// A few outputs fill the window of small.
	small = opencodetest.SmallModel
	other = opencodetest.OtherClaudeModel
)

type world struct {
	t       *testing.T
	ctx     context.Context
	mock    *mockllm.Server
	user    *stage.User
	project string
	options opencode2.Options
	server  *opencode2.Server
}

func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	suite.Needs(t)
	if runtime.GOOS == "windows" {
		t.Skip("neither the beta nor the fake runs on Windows")
	}
	root := suite.Root(t)
	user, err := stage.NewUser(root, product)
	check(t, err)
	check(t, user.Configure(settings))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, mock: mockllm.Start(), user: user, project: filepath.Join(root, "project")}
	t.Cleanup(w.mock.Close)
	w.mock.AddRule(mockllm.Rule{Name: "title", Match: func(r *mockllm.Request) bool { return r.SystemContains("title generator") }, Answer: mockllm.Always(mockllm.Say("A title"))})
	check(t, os.MkdirAll(w.project, 0o700))
	for name, content := range map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n", "long.txt": strings.Repeat("one long line of the file\n", 400)} {
		check(t, os.WriteFile(filepath.Join(w.project, name), []byte(content), 0o600))
	}
	w.options = opencode2.Options{Options: user.WithPlugin(product.Host, w.project, w.mock.URL()), Source: os.Getenv(opencode2.Variable)}
	w.options.LimitsOf = map[string]opencodetest.Limits{opencodetest.SmallModel: {Context: 30_000, Output: 4_000}}
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) start() {
	w.t.Helper()
	server, err := opencode2.Start(w.ctx, w.options)
	check(w.t, err)
	w.server = server
	w.t.Cleanup(func() {
		_ = server.Stop() // a test may have stopped it
		if err := w.user.StopHost(context.WithoutCancel(w.ctx)); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("OpenCode 2 has printed:\n%s", tail(server.Output(), 40))
		}
	})
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (w *world) session(model string) *opencode2.Session {
	w.t.Helper()
	s, err := w.server.Create(w.ctx, model)
	check(w.t, err)
	return s
}

func (w *world) say(s *opencode2.Session, text string, steps ...mockllm.Step) {
	w.t.Helper()
	w.mock.Enqueue(steps...)
	check(w.t, s.Prompt(w.ctx, text))
}

func (w *world) requests(s *opencode2.Session) []*mockllm.Request {
	return slices.DeleteFunc(w.mock.Requests(), func(r *mockllm.Request) bool {
		return r.Header.Get("X-Opencode-Session") != s.ID && r.Session() != s.ID || r.Rule != ""
	})
}

func (w *world) newest(s *opencode2.Session) *mockllm.Request {
	w.t.Helper()
	all := w.requests(s)
	if len(all) == 0 {
		w.t.Fatal("no request of the session has arrived")
	}
	return all[len(all)-1]
}

func read(id, file string) mockllm.Block {
	return mockllm.Tool(id, "read", map[string]any{"path": file, "filePath": file})
}

func calls(blocks ...mockllm.Block) mockllm.Step { return mockllm.Step{Blocks: blocks} }

func text(r *mockllm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, c := range m.Content {
			fmt.Fprintf(&b, "%s %s: %s\n", m.Role, c.Type, c.Text)
		}
	}
	return b.String()
}

func (w *world) wants(r *mockllm.Request, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text(r), part) {
			w.t.Errorf("the request lacks %q:\n%s", part, text(r))
		}
	}
}

// wholeArcs fails if a call of the request has no result, or a result has no call.
func (w *world) wholeArcs(r *mockllm.Request) {
	w.t.Helper()
	open := map[string]int{}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			switch c.Type {
			case "tool_use":
				open[c.ID]++
			case "tool_result":
				open[c.ID]--
			}
		}
	}
	for id, n := range open {
		if n != 0 {
			w.t.Errorf("call %s has %d results too few:\n%s", id, n, text(r))
		}
	}
}

// The method `extends` fails if a request of the session does not begin with the request before it.
func (w *world) extends(requests []*mockllm.Request) {
	w.t.Helper()
	for i := 1; i < len(requests); i++ {
		before, after := requests[i-1].Blocks, requests[i].Blocks
		for j := range before {
			if j >= len(after) || string(before[j].JSON) != string(after[j].JSON) {
				w.t.Errorf("request %d changes %s of the request before it:\n%s\n%s", i+1, before[j].Where, before[j].JSON, at(after, j))
				return
			}
		}
	}
}

func at(blocks []mockllm.PromptBlock, i int) string {
	if i >= len(blocks) {
		return "(nothing)"
	}
	return string(blocks[i].JSON)
}

func (w *world) status(s *opencode2.Session) schema.SessionStatus {
	w.t.Helper()
	all, err := w.user.Status(w.ctx)
	check(w.t, err)
	for _, st := range all.Sessions {
		if st.Session == s.ID {
			return st
		}
	}
	w.t.Fatalf("the host does not know session %s", s.ID)
	return schema.SessionStatus{}
}

func (w *world) traces() string { return filepath.Join(w.user.Home.Root, "traces") }

// replay fails if a replay finds a bust without a cause, or a wire that breaks a rule.
func (w *world) replay() {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.traces(), "*.jsonl"))
	check(w.t, err)
	if len(paths) != 1 {
		w.t.Fatalf("%d traces, want 1", len(paths))
	}
	trace, err := os.ReadFile(paths[0])
	check(w.t, err)
	w.sentAsPlanned(paths[0])
	report, err := replay.Run(w.ctx, bytes.NewReader(trace), replay.Options{})
	check(w.t, err)
	if s := report.Summary(); !s.IsClean() || s.Passes < 30 {
		w.t.Errorf("%d passes, %d unexplained busts, %v, %v", s.Passes, s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits)
	}
	if *record == "" {
		return
	}
	for place, as := range map[string]string{w.project: "/project", filepath.Dir(w.project): "/home/user"} {
		trace = bytes.ReplaceAll(trace, []byte(place), []byte(as))
	}
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	check(w.t, err)
	_, err = z.Write(trace)
	check(w.t, errors.Join(err, z.Close(), os.WriteFile(*record, zipped.Bytes(), 0o644)))
}

var record = flag.String("record", "", "write the trace of the sessions to this file")

func (w *world) killHost() error {
	status, err := w.user.Status(w.ctx)
	if err != nil {
		return err
	}
	return stage.End(w.ctx, status.PID, os.Kill)
}
