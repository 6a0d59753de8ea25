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

	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mockllm"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
)

const (
	testTimeout = 5 * time.Minute

	// deadline is what the user has configured for a pass. The times that are
	// asserted are multiples of it, and of how long a prompt takes here at all.
	deadline = 2 * time.Second

	// known is more than a host that is known to be down may cost a prompt.
	known = deadline * 3 / 4

	// sessionHeader is how OpenCode names the session to the provider.
	sessionHeader = "X-Session-Id"
)

// A scene is a user with one OpenCode, which runs until the test ends.
type scene struct {
	t       *testing.T
	ctx     context.Context
	root    string
	user    *stage.User
	project string
	mock    *mockllm.Server
	oc      *opencodetest.OpenCode
	session string
	binary  string   // what MAGICCTX_HOST names
	env     []string // of OpenCode, as that of the shell it was started from
	// usual is how long a prompt has taken without a fault.
	usual time.Duration
	// isTagged says that the session has messages that the host has seen.
	isTagged bool
	// isMounted says that the data directory is a file system of its own.
	isMounted bool

	mu      sync.Mutex
	notices []string
	// scripted are the steps that answer next.
	scripted []mockllm.Step
}

// newScene makes a user; start runs OpenCode.
func newScene(t *testing.T) *scene {
	t.Helper()
	suite.Needs(t)
	root, err := os.MkdirTemp("", "mcx") // not t.TempDir: a socket's path is short
	must(t, err)
	root, err = filepath.EvalSymlinks(root)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	s := &scene{t: t, ctx: ctx, root: root, project: filepath.Join(root, "project"), binary: filepath.Join(root, "magicctx-host")}
	t.Cleanup(s.removeAll)
	s.user, err = stage.NewUser(root, product)
	must(t, err)
	s.mountData()
	must(t, opencodetest.NewProject(ctx, s.project, map[string]string{"notes.txt": "the answer is 41\n"}))
	s.configure()
	s.mock = mockllm.Start()
	t.Cleanup(s.mock.Close)
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

// configure sets the deadline of all passes.
func (s *scene) configure() {
	s.t.Helper()
	dir := filepath.Join(s.user.Home.Config, "magicctx")
	must(s.t, os.MkdirAll(dir, 0o700))
	ms := deadline.Milliseconds()
	config := fmt.Sprintf(`{"transform_timeout_ms": %d, "resync_timeout_ms": %d}`, ms, ms)
	must(s.t, os.WriteFile(filepath.Join(dir, "magicctx.jsonc"), []byte(config), 0o600))
}

// install puts the switchable host where OpenCode looks for it.
func (s *scene) install() {
	s.t.Helper()
	raw, err := os.ReadFile(switchHost)
	must(s.t, err)
	must(s.t, os.WriteFile(s.binary, raw, 0o700))
}

// be says what the host's binary is from its next start on.
func (s *scene) be(behaviour string) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.behaviour(), []byte(behaviour), 0o600))
}

func (s *scene) behaviour() string { return filepath.Join(s.root, "behaviour") }

func (s *scene) start() {
	s.t.Helper()
	o := s.user.WithPlugin(s.binary, s.project, s.mock.URL())
	o.Env = append(o.Env, "SWITCHHOST_FILE="+s.behaviour(), "SWITCHHOST_REAL="+product.Host)
	s.env = s.user.Home.Env(s.project, o.Env...)
	oc, err := opencodetest.Start(s.ctx, o)
	must(s.t, err)
	if s.oc == nil {
		s.t.Cleanup(s.stop)
	}
	s.oc = oc
	events, err := oc.Events(s.ctx)
	must(s.t, err)
	go func() {
		for e := range events {
			s.hear(e)
		}
	}()
	s.newSession()
}

// whileDown does something while no host runs and none can be started: the shim
// would have another one at once.
func (s *scene) whileDown(do func()) {
	s.t.Helper()
	s.be("crash")
	s.stopHost()
	do()
	s.be("real")
}

// restart runs another OpenCode, with a new session; between happens while none runs.
func (s *scene) restart(between func()) {
	s.t.Helper()
	s.oc.Close()
	must(s.t, s.oc.Stop())
	s.stopHost()
	between()
	s.start()
}

func (s *scene) stop() {
	if s.t.Failed() {
		s.dump()
	}
	s.oc.Close()
	if err := s.oc.Stop(); err != nil {
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

// hear notes the plugin's notices.
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
	session, err := s.oc.CreateSession(s.ctx, opencodetest.NewSession{Title: "fault"})
	must(s.t, err)
	s.session, s.isTagged = session.ID, false
}

// prompt runs a turn of one request and returns what the provider received, and
// how long it took.
func (s *scene) prompt(text string) (*mockllm.Request, time.Duration) {
	s.t.Helper()
	before := len(s.mock.Requests())
	began := time.Now()
	if _, err := s.oc.Prompt(s.ctx, s.session, opencodetest.Prompt{Text: text}); err != nil {
		s.t.Fatal(err)
	}
	took := time.Since(began)
	ours := slices.DeleteFunc(s.mock.Requests()[before:], func(r *mockllm.Request) bool { return r.Header.Get(sessionHeader) != s.session })
	if len(ours) != 1 {
		s.t.Fatalf("%d requests for one prompt", len(ours))
	}
	return ours[0], took
}

// tag is what a message of the user starts with when the host has seen it.
const tag = "§"

// works asserts that a prompt is what the host makes of it.
func (s *scene) works() {
	s.t.Helper()
	s.usual = max(s.usual, s.treats())
}

// treatsInTime asserts the same while there is a fault that the host copes with:
// the prompt does not wait longer than one without a host would.
func (s *scene) treatsInTime() {
	s.t.Helper()
	if took, limit := s.treats(), s.within(deadline); took > limit {
		s.t.Errorf("the prompt took %v, more than %v", took, limit)
	}
}

// within adds to a limit what a prompt takes here at all, twice because the
// machine has other things to do.
func (s *scene) within(limit time.Duration) time.Duration {
	return limit + 2*max(s.usual, deadline/4)
}

// treats asserts that the host has seen a prompt, and returns how long that took.
func (s *scene) treats() time.Duration {
	s.t.Helper()
	r, took := s.prompt("Is all well?")
	s.isTagged = true
	if text := lastText(r); !strings.HasPrefix(text, tag) {
		s.t.Fatalf("the host has not seen %q", text)
	}
	if len(r.Tools) == 0 || !slices.Contains(r.Tools, "ctx_reduce") {
		s.t.Errorf("the model has no ctx_reduce: %v", r.Tools)
	}
	return took
}

// suffers asserts that prompts go out although there is a fault: all that the
// host did before stays done, the new message is as OpenCode wrote it, the first
// prompt waits for the deadline at most, the second for next to nothing, and the
// user is told once, in words that hold each of the causes.
func (s *scene) suffers(causes ...string) {
	s.t.Helper()
	s.forgetNotices()
	for i, limit := range []time.Duration{deadline, known} {
		text := fmt.Sprintf("Go on, %d.", i)
		r, took := s.prompt(text)
		if got := lastText(r); got != text {
			s.t.Errorf("the prompt became %q", got)
		}
		if has := strings.HasPrefix(r.Messages[0].Content[0].Text, tag); has != s.isTagged {
			s.t.Errorf("the prompts before are tagged: %v, want %v", has, s.isTagged)
		}
		if limit = s.within(limit); took > limit {
			s.t.Errorf("prompt %d took %v, more than %v", i, took, limit)
		}
	}
	s.told(causes...)
}

func (s *scene) forgetNotices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = nil
}

// told asserts that there was one notice since the last call of forgetNotices.
// It comes before the answer of the turn on the bus, but on another connection.
func (s *scene) told(causes ...string) {
	s.t.Helper()
	var notices []string
	for range 100 {
		s.mu.Lock()
		notices = slices.Clone(s.notices)
		s.mu.Unlock()
		if len(notices) > 0 {
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

// recovers asserts that the very next prompt is as if nothing had been, and that
// nobody is bothered with it.
func (s *scene) recovers() {
	s.t.Helper()
	s.works()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notices) != 1 {
		s.t.Errorf("notices after the recovery: %q", s.notices)
	}
}

// toolSays asserts what the model hears of a call of the host's tool.
func (s *scene) toolSays(want string) {
	s.t.Helper()
	const call = "toolu_fault"
	s.script(mockllm.Call(call, "ctx_reduce", map[string]any{"drop": "1"}), mockllm.Say("So be it."))
	before := len(s.mock.Requests())
	_, err := s.oc.Prompt(s.ctx, s.session, opencodetest.Prompt{Text: "Drop it."})
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

// script answers the next requests of the session; after them it goes on as before.
func (s *scene) script(steps ...mockllm.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripted = append(s.scripted, steps...)
}

func (s *scene) answer(r *mockllm.Request) mockllm.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.scripted) == 0 || r.Header.Get(sessionHeader) != s.session {
		return mockllm.Say("Yes.")
	}
	step := s.scripted[0]
	s.scripted = s.scripted[1:]
	return step
}

// endHanging ends the hosts that hang, and waits until OpenCode has seen it: the
// next is on its way then.
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
	s.t.Logf("OpenCode printed:\n%s", s.oc.Output())
	for _, pattern := range []string{filepath.Join(s.user.Home.Temp, "*", "*.log"), filepath.Join(s.user.DataDir, "logs", "*.log")} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			raw, _ := os.ReadFile(path)
			s.t.Logf("%s:\n%s", filepath.Base(path), raw[max(0, len(raw)-4000):])
		}
	}
}

// removeAll removes the scene. OpenCode's git snapshots may still be written by
// a grandchild that outlived it by an instant.
func (s *scene) removeAll() {
	err := os.RemoveAll(s.root)
	for range 50 {
		if err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
		err = os.RemoveAll(s.root)
	}
	s.t.Error(err)
}

// toldNothing asserts that the user was not bothered.
func (s *scene) toldNothing() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notices) != 0 {
		s.t.Errorf("notices: %q", s.notices)
	}
}
