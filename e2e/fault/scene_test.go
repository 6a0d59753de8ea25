package fault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	testTimeout = 5 * time.Minute

	deadline = 2 * time.Second
)

type scene struct {
	t       *testing.T
	harness schema.Harness
	ctx     context.Context
	root    string
	user    *stage.User
	project string
	mock    *mockllm.Server
	oc      agent.Agent
	session string
	binary  string   // the value of MAGICCTX_HOST
	env     []string // additional environment of OpenCode, as from the shell that started it
	usual   time.Duration
	// isTagged is true if the session contains messages that the host has seen.
	isTagged  bool
	isMounted bool

	mark int

	// mu guards notices and scripted.
	mu       sync.Mutex
	notices  []string
	scripted []mockllm.Step
}

func newScene(t *testing.T, h schema.Harness) *scene {
	t.Helper()
	if suite.Needs(t); h == schema.HarnessPi {
		suite.NeedsPi(t, product.Repo)
	}
	root := suite.Root(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	s := &scene{t: t, harness: h, ctx: ctx, root: root, project: filepath.Join(root, "project"), binary: filepath.Join(root, "magicctx-host")}
	var err error
	s.user, err = stage.NewUser(root, product)
	must(t, err)
	s.mountData()
	must(t, opencodetest.NewProject(ctx, s.project, map[string]string{"notes.txt": "the answer is 41\n"}))
	s.configure()
	s.mock = mockllm.Start()
	t.Cleanup(s.mock.Close)
	suite.Judge(t, s.mock)
	s.mock.AddRule(mockllm.Rule{Match: func(*mockllm.Request) bool { return true }, Answer: s.answer})
	s.install()
	s.be("real")
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// configure switches the historian off, because the model's script has no answers for it.
func (s *scene) configure() {
	s.t.Helper()
	ms := deadline.Milliseconds()
	config := fmt.Sprintf(`{"transform_timeout_ms": %d, "resync_timeout_ms": %d, "historian": {"disable": true}}`, ms, ms)
	must(s.t, s.user.Configure(config))
}

func (s *scene) install() {
	s.t.Helper()
	raw, err := os.ReadFile(switchHost)
	must(s.t, err)
	must(s.t, os.WriteFile(s.binary, raw, 0o700))
}

// The method `be` sets how the host behaves from its next start on. A shim may start the host at any moment, so `be`
// replaces the file at once, by renaming another one.
func (s *scene) be(behaviour string) {
	s.t.Helper()
	next := s.behaviour() + ".next"
	must(s.t, os.WriteFile(next, []byte(behaviour), 0o600))
	must(s.t, os.Rename(next, s.behaviour()))
}

func (s *scene) behaviour() string { return filepath.Join(s.root, "behaviour") }

func (s *scene) start() {
	s.t.Helper()
	o := s.user.WithPlugin(s.binary, s.project, s.mock.URL())
	o.Env = append(o.Env, "SWITCHHOST_FILE="+s.behaviour(), "SWITCHHOST_REAL="+product.Host)
	s.env = s.user.Home.Env(s.project, o.Env...)
	if s.oc == nil {
		s.t.Cleanup(s.stop)
	}
	if s.harness == schema.HarnessPi {
		pi := s.user.BarePi(s.project, s.mock.URL())
		pi.Extensions, pi.Env = []string{s.user.Product.PiShim}, o.Env
		p, err := agent.StartPi(s.ctx, pi)
		must(s.t, err)
		s.oc, s.mark = p, 0
		s.newSession()
		return
	}
	oc, err := opencodetest.Start(s.ctx, o)
	must(s.t, err)
	s.oc = &agent.OpenCode{OpenCode: oc}
	events, err := oc.Events(s.ctx)
	must(s.t, err)
	go func() {
		for e := range events {
			s.hear(e)
		}
	}()
	s.newSession()
}

// whileDown calls `do` while no host is running and the shim cannot start one.
func (s *scene) whileDown(do func()) {
	s.t.Helper()
	s.be("crash")
	s.stopHost()
	do()
	s.be("real")
}

func (s *scene) restart(between func()) {
	s.t.Helper()
	must(s.t, s.oc.End())
	s.stopHost()
	between()
	s.start()
}

func (s *scene) stop() {
	if s.oc == nil {
		return // a new host could not be started
	}
	if s.t.Failed() {
		s.dump()
	}
	if err := s.oc.End(); err != nil {
		s.t.Error(err)
	}
	s.stopHost()
}

func (s *scene) stopHost() {
	s.t.Helper()
	if err := s.user.StopHost(s.ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) hear(e opencodetest.Event) {
	if e.Type != "tui.toast.show" {
		return
	}
	var toast struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(e.Properties, &toast); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, toast.Message)
}

func (s *scene) newSession() {
	s.t.Helper()
	session, err := s.oc.Begin(s.ctx)
	must(s.t, err)
	s.session, s.isTagged = session, false
}

func (s *scene) prompt(text string) (*mockllm.Request, time.Duration) {
	s.t.Helper()
	before := len(s.mock.Requests())
	began := time.Now()
	if err := s.oc.Send(s.ctx, s.session, opencodetest.Prompt{Text: text}); err != nil {
		s.t.Fatal(err)
	}
	elapsed := time.Since(began)
	ours := slices.DeleteFunc(s.mock.Requests()[before:], func(r *mockllm.Request) bool { return r.Session() != s.session })
	if len(ours) != 1 {
		s.t.Fatalf("%d requests for one prompt", len(ours))
	}
	return ours[0], elapsed
}

// The host puts a tag such as "§12§ " in front of each message of the user. So a message without a tag has not passed
// through the host.
const tag = "§"

func (s *scene) works() {
	s.t.Helper()
	s.usual = max(s.usual, s.treats())
}

func (s *scene) treatsInTime() {
	s.t.Helper()
	if elapsed, limit := s.treats(), s.limit(); elapsed > limit {
		s.t.Errorf("the prompt took %v, more than %v", elapsed, limit)
	}
}

// limit returns the longest time that a prompt may take. It is so generous that even a busy machine stays below it, but
// a call without a deadline exceeds it. The unit tests in host.test.ts check the exact times.
func (s *scene) limit() time.Duration { return 5 * (deadline + s.usual) }

// treats sends a prompt and fails if the host has not seen it. treats returns the duration of the turn.
func (s *scene) treats() time.Duration {
	s.t.Helper()
	r, elapsed := s.prompt("Is all well?")
	s.isTagged = true
	if text := lastText(r); !strings.HasPrefix(text, tag) {
		s.t.Fatalf("the host has not seen %q", text)
	}
	if len(r.Tools) == 0 || !slices.Contains(r.Tools, "ctx_reduce") {
		s.t.Errorf("the model has no ctx_reduce: %v", r.Tools)
	}
	return elapsed
}

// suffers sends prompts during a fault. Every prompt must reach the provider. Older messages must look as before the
// fault, and the new message as the user typed it. The user must get exactly one notice, which names all causes.
func (s *scene) suffers(causes ...string) {
	s.t.Helper()
	s.forgetNotices()
	s.endures()
	s.told(causes...)
}

// endures checks the same as suffers, except for the notice.
func (s *scene) endures() {
	s.t.Helper()
	for i := range 2 {
		text := fmt.Sprintf("Go on, %d.", i)
		r, elapsed := s.prompt(text)
		if got := lastText(r); got != text {
			s.t.Errorf("the prompt became %q", got)
		}
		if has := strings.HasPrefix(r.Messages[0].Content[0].Text, tag); has != s.isTagged {
			s.t.Errorf("the prompts before are tagged: %v, want %v", has, s.isTagged)
		}
		if limit := s.limit(); elapsed > limit {
			s.t.Errorf("prompt %d took %v, more than %v", i, elapsed, limit)
		}
	}
}

func (s *scene) forgetNotices() {
	s.mark += len(s.heard())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = nil
}

func (s *scene) heard() (notices []string) {
	if p, ok := s.oc.(*agent.Pi); ok {
		for _, n := range p.UIRequests("notify")[s.mark:] {
			notices = append(notices, n.Message)
		}
		return notices
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// told waits for the notice. OpenCode does not send it over the same connection as the answer, so it may arrive later.
// If a notice reports no trouble, OpenCode shows it at least six seconds after the previous notice.
func (s *scene) told(causes ...string) {
	s.t.Helper()
	var notices []string
	for range 500 {
		if notices = s.heard(); len(notices) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(notices) != 1 {
		s.t.Fatalf("%d notices: %q", len(notices), notices)
	}
	for _, cause := range causes {
		if !strings.Contains(notices[0], cause) {
			s.t.Errorf("the notice does not say %q: %s", cause, notices[0])
		}
	}
	s.t.Logf("told: %s", notices[0])
}

// recovers checks that the next prompt after the fault works as usual, and that the user gets no further notice.
func (s *scene) recovers() {
	s.t.Helper()
	s.works()
	if notices := s.heard(); len(notices) != 1 {
		s.t.Errorf("notices after the recovery: %q", notices)
	}
}

func (s *scene) toolSays(want string) {
	s.t.Helper()
	const call = "toolu_fault"
	s.script(mockllm.Call(call, "ctx_reduce", map[string]any{"drop": "1"}), mockllm.Say("So be it."))
	before := len(s.mock.Requests())
	err := s.oc.Send(s.ctx, s.session, opencodetest.Prompt{Text: "Drop it."})
	must(s.t, err)
	for _, r := range s.mock.Requests()[before:] {
		for _, m := range r.Messages {
			for _, c := range m.Content {
				if c.Type == "tool_result" && c.ID == call && strings.Contains(c.Text, want) {
					return
				}
			}
		}
	}
	s.t.Errorf("the model does not hear %q", want)
}

func (s *scene) script(steps ...mockllm.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripted = append(s.scripted, steps...)
}

func (s *scene) answer(r *mockllm.Request) mockllm.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.scripted) == 0 || r.Session() != s.session {
		return mockllm.Say("Yes.")
	}
	step := s.scripted[0]
	s.scripted = s.scripted[1:]
	return step
}

// endHanging kills the host that hangs. OpenCode then starts the next host.
func (s *scene) endHanging() {
	s.t.Helper()
	raw, err := os.ReadFile(s.behaviour() + ".pid")
	must(s.t, err)
	pid, err := strconv.Atoi(string(raw))
	must(s.t, err)
	must(s.t, stage.End(s.ctx, pid, os.Kill))
}

func lastText(r *mockllm.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Content[len(m.Content)-1].Text
		}
	}
	return ""
}

func (s *scene) dump() {
	s.t.Logf("%s printed:\n%s", s.harness, s.oc.Printed())
	for _, pattern := range []string{filepath.Join(s.user.Home.Temp, "*", "*.log"), filepath.Join(s.user.DataDir, "logs", "*.log")} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			raw, _ := os.ReadFile(path)
			s.t.Logf("%s:\n%s", filepath.Base(path), raw[max(0, len(raw)-4000):])
		}
	}
}

func (s *scene) toldNothing() {
	s.t.Helper()
	if notices := s.heard(); len(notices) != 0 {
		s.t.Errorf("notices: %q", notices)
	}
}
