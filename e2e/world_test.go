package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// testTimeout allows for other tests on the same machine.
const testTimeout = 10 * time.Minute

type world struct {
	t       *testing.T
	harness schema.Harness // the harness that launch starts and whose journal is read
	// If thinks is true, the scripted models begin each turn with a thought, and Pi asks for thinking.
	thinks  bool
	ctx     context.Context
	root    string
	user    *stage.User
	project string
	mock    *mockllm.Server
	// isGone is true after the world's directory was removed. From then on, `kept` contains the logs.
	isGone bool
	kept   map[string]string
}

func newWorld(t *testing.T, root string, files map[string]string) *world {
	t.Helper()
	return newWorldOf(t, schema.HarnessOpenCode, root, files)
}

// newWorldOf creates a world in the directory `root`. Requests contain paths, so the requests of two worlds can only be
// compared if both worlds have used the same root, one after the other.
func newWorldOf(t *testing.T, h schema.Harness, root string, files map[string]string) *world {
	t.Helper()
	// t.Context would end before the cleanups, which need a context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	user, err := stage.NewUser(root, product)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, harness: h, ctx: ctx, root: root, user: user, mock: mockllm.Start()}
	t.Cleanup(w.mock.Close)
	suite.Judge(t, w.mock)
	if h == schema.HarnessOpenCode2 { // it asks for a title even if the session has one
		w.mock.AddRule(mockllm.Rule{Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question"))})
	}
	if err := user.Configure(stage.WithoutHistorian); err != nil {
		t.Fatal(err)
	}
	w.project = w.addProject("project", files)
	return w
}

// If the settings do not mention the historian, configure switches it off.
func (w *world) configure(settings string) {
	w.t.Helper()
	if !strings.Contains(settings, "historian") {
		settings = strings.Replace(settings, "{", strings.TrimSuffix(stage.WithoutHistorian, "}")+", ", 1)
	}
	if err := w.user.Configure(settings); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) addProject(name string, files map[string]string) string {
	w.t.Helper()
	dir := filepath.Join(w.root, name)
	if err := opencodetest.NewProject(w.ctx, dir, files); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

func (w *world) bare() opencodetest.Options { return w.user.Bare(w.project, w.mock.URL()) }

// With flat prices, every bust pays off. The stories need such prices: their prompts are short and only the reported
// usage is large, so a bust drops too little to pay off at real prices.
func (w *world) withFlatPrices() opencodetest.Options {
	o := w.withPlugin()
	o.FlatPrices = true
	return o
}

func (w *world) withPlugin() opencodetest.Options {
	return w.user.WithPlugin(product.Host, w.project, w.mock.URL())
}

func (w *world) tools() script.Tools {
	switch w.harness {
	case schema.HarnessPi:
		return script.Pi
	case schema.HarnessOpenCode2:
		return script.OpenCode2
	}
	return script.OpenCode
}

func (w *world) bash(id, command string) mockllm.Step {
	tool, input := w.tools().Bash(command, "Run it")
	return mockllm.Call(id, tool, input)
}

// launch starts the harness. The harness ends when the test ends, or earlier if the test calls `stop`. For Pi, launch
// ignores all options except the limits, the prices and the environment.
func (w *world) launch(o opencodetest.Options) agent.Agent {
	w.t.Helper()
	switch w.harness {
	case schema.HarnessPi:
		return w.startPi(w.piOptions(o))
	case schema.HarnessOpenCode2:
		a, err := agent.StartOpenCode2(w.ctx, opencode2.Options{Options: o, Source: os.Getenv(opencode2.Variable)})
		if err != nil {
			w.t.Fatal(err)
		}
		w.watch(a)
		return a
	}
	return w.start(o)
}

func (w *world) piOptions(o opencodetest.Options) pitest.Options {
	p := w.user.BarePi(w.project, w.mock.URL())
	if len(o.Plugins) > 0 {
		p.Extensions = []string{w.user.Product.PiShim}
	}
	if w.thinks {
		p.Thinking = "medium"
	}
	p.Limits, p.LimitsOf, p.FlatPrices, p.Env, p.Project = o.Limits, o.LimitsOf, o.FlatPrices, o.Env, o.Project
	return p
}

// relaunch starts a new process that continues the sessions of the process `ended`. Pi does not find its sessions by
// itself, so relaunch names them.
func (w *world) relaunch(ended agent.Agent, o opencodetest.Options) agent.Agent {
	w.t.Helper()
	before, ok := ended.(*agent.Pi)
	if !ok {
		return w.launch(o)
	}
	p, err := before.Resume(w.ctx, w.piOptions(o))
	if err != nil {
		w.t.Fatal(err)
	}
	w.watch(p)
	return p
}

func (w *world) startPi(o pitest.Options) *agent.Pi {
	w.t.Helper()
	p, err := agent.StartPi(w.ctx, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.watch(p)
	return p
}

func (w *world) start(o opencodetest.Options) *agent.OpenCode {
	w.t.Helper()
	started, err := opencodetest.Start(w.ctx, o)
	if err != nil {
		w.t.Fatal(err)
	}
	oc := &agent.OpenCode{OpenCode: started}
	w.watch(oc)
	return oc
}

func (w *world) watch(oc agent.Agent) {
	w.t.Cleanup(func() {
		logs := w.kept
		if !w.isGone {
			logs = w.logs()
		}
		if w.t.Failed() {
			w.t.Logf("the harness printed:\n%s", oc.Printed())
			for name, text := range logs {
				w.t.Logf("%s:\n%s", name, tail(text, 3_000))
			}
		}
		if w.isGone {
			return
		}
		w.stop(oc)
		w.stopHost()
	})
}

func (w *world) stop(oc agent.Agent) {
	w.t.Helper()
	if err := oc.End(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) stopHost() {
	w.t.Helper()
	if err := w.user.StopHost(w.ctx); err != nil {
		w.t.Error(err)
	}
}

func (w *world) destroy(oc agent.Agent) {
	w.t.Helper()
	w.stop(oc)
	w.stopHost()
	w.isGone, w.kept = true, w.logs()
	suite.Remove(w.t, w.root)
}

func (w *world) session(oc agent.Agent) string {
	w.t.Helper()
	id, err := oc.Begin(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) prompt(oc agent.Agent, session, text string) {
	w.t.Helper()
	if err := oc.Send(w.ctx, session, opencodetest.Prompt{Text: text}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) logs() map[string]string {
	w.t.Helper()
	logs := map[string]string{}
	for _, dir := range []string{w.user.Home.LogDir(), filepath.Join(w.user.Home.Temp, "*"), filepath.Join(w.user.DataDir, "logs")} {
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

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
